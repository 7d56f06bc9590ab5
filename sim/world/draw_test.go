package world

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestDrawsHaveTheirMeanAndVariation(t *testing.T) {
	for _, x := range []struct {
		name     string
		draw     Draw
		mean, cv float64 // of a million draws, in seconds
		least    time.Duration
	}{
		{"constant", Draw{Mean: 3 * time.Second}, 3, 0, 3 * time.Second},
		{"lognormal", Draw{Mean: 3 * time.Second, CV: 0.5}, 3, 0.5, 0},
		{"exponential", Draw{Mean: 3 * time.Second, Exponential: true}, 3, 1, 0},
		{"samples", Draw{Samples: []time.Duration{time.Second, 5 * time.Second}}, 3, 2. / 3, time.Second},
	} {
		t.Run(x.name, func(t *testing.T) {
			if err := x.draw.Check("it"); err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(3, 1))
			const n = 1_000_000
			var sum, squares float64
			for range n {
				d := x.draw.Next(r)
				if d < x.draw.Least() {
					t.Fatalf("drew %s, the least is %s", d, x.draw.Least())
				}
				sum, squares = sum+d.Seconds(), squares+d.Seconds()*d.Seconds()
			}
			mean := sum / n
			if math.Abs(mean/x.mean-1) > 0.005 {
				t.Errorf("found a mean of %v s, want %v s", mean, x.mean)
			}
			if want := x.mean * x.mean * (1 + x.cv*x.cv); math.Abs(squares/n/want-1) > 0.01 {
				t.Errorf("found a second moment of %v, want %v", squares/n, want)
			}
		})
	}
	if err := (Draw{Mean: time.Second, CV: 1, Exponential: true}).Check("boot"); err == nil {
		t.Error("an exponential distribution with another variation is allowed")
	}
}
