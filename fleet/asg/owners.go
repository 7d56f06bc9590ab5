package asg

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
)

// Owners returns the names of the group's scaling policies: each of them changes its size, too.
func (f *Fleet) Owners(ctx context.Context) (owners []string, err error) {
	in := &autoscaling.DescribePoliciesInput{AutoScalingGroupName: aws.String(f.o.Group)}
	for more := true; more; more = in.NextToken != nil {
		out, err := f.region.client.DescribePolicies(ctx, in)
		if err != nil {
			return nil, f.explain("ask who else sizes", err)
		}
		for _, p := range out.ScalingPolicies {
			if p.Enabled == nil || *p.Enabled {
				owners = append(owners, aws.ToString(p.PolicyName))
			}
		}
		in.NextToken = out.NextToken
	}
	slices.Sort(owners)
	return owners, nil
}
