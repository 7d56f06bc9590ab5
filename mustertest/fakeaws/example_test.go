package fakeaws_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/groups"
)

func Example() {
	world := model.New(model.Settings{Start: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC), Seed: 1,
		Machines: groups.Machines{Boot: 90 * time.Second}})
	server := fakeaws.New(world)
	web := httptest.NewServer(server)
	defer web.Close()
	defer server.Close()
	ctx := context.Background()
	client := autoscaling.New(autoscaling.Options{BaseEndpoint: &web.URL, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")})
	_, err := client.CreateAutoScalingGroup(ctx,
		&autoscaling.CreateAutoScalingGroupInput{AutoScalingGroupName: aws.String("workers"),
			MinSize: aws.Int32(0), MaxSize: aws.Int32(10), AvailabilityZones: []string{"us-east-1a"},
			LaunchConfigurationName: aws.String("worker")})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.SetDesiredCapacity(ctx,
		&autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("workers"),
			DesiredCapacity: aws.Int32(2)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		server.Advance(time.Minute)
		out, err := client.DescribeAutoScalingInstances(ctx, &autoscaling.DescribeAutoScalingInstancesInput{})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, i := range out.AutoScalingInstances {
			fmt.Println(server.Now().Format(time.TimeOnly), *i.LifecycleState)
		}
	}
	// Output:
	// 09:01:00 Pending
	// 09:01:00 Pending
	// 09:02:00 InService
	// 09:02:00 InService
}
