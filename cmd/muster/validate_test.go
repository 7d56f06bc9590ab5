package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWhatValidateIsAskedFor(t *testing.T) {
	for _, x := range []struct {
		options validateOptions
		says    string
	}{
		{validateOptions{5, 0.05, 2 * time.Minute}, ""},
		{validateOptions{5, 0.05, 0}, ""},
		{validateOptions{0, 0.05, 10 * time.Second}, ""},
		{validateOptions{-1, 0.05, 0}, "--repetitions"},
		{validateOptions{101, 0.05, 0}, "--repetitions"},
		{validateOptions{5, 0, 0}, "--within"},
		{validateOptions{5, 1, 0}, "--within"},
		{validateOptions{5, 0.05, time.Second}, "--steady"},
		{validateOptions{5, 0.05, time.Hour}, "--steady"},
		{validateOptions{0, 0.05, 0}, "nothing to compare"},
	} {
		if err := x.options.check(); fmt.Sprint(err) != "<nil>" && x.says == "" || x.says != "" &&
			(err == nil || !strings.Contains(err.Error(), x.says)) {
			t.Errorf("%+v: found %v, want %q", x.options, err, x.says)
		}
	}
}
