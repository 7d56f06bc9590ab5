package placement

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// identityTries and identityPause bound how long to ask a metadata service that has just started.
	identityTries = 5
	identityPause = 2 * time.Second
)

// EC2Identity is the identity of an instance, from its metadata.
type EC2Identity struct {
	// Instance is its id, as in i-0123456789abcdef0. It names the member of an Auto Scaling group.
	Instance string
	// Region is where it runs.
	Region string
}

// EC2 reads the identity of this instance from its metadata, by IMDSv2. The endpoint defaults to
// http://169.254.169.254. A nil client uses no proxy. It retries for about ten seconds.
func EC2(ctx context.Context, endpoint string, client *http.Client) (id EC2Identity, err error) {
	s := newIMDSSession(endpoint, client)
	err = again(ctx, func() error {
		var failures []error
		for path, into := range map[string]*string{"meta-data/instance-id": &id.Instance,
			"meta-data/placement/region": &id.Region} {
			text, _, err := s.get(ctx, path)
			if err == nil && text == "" {
				err = fmt.Errorf("GET %s: found nothing", s.base+path)
			}
			*into = text
			failures = append(failures, err)
		}
		return errors.Join(failures...)
	})
	if err != nil {
		return EC2Identity{}, fmt.Errorf("read the id of the instance: %w", err)
	}
	return id, nil
}

// ECSTask reads the ARN of this process's task from its metadata; metadataURI is the value of
// ECS_CONTAINER_METADATA_URI_V4. The ARN names the member of an ECS fleet. A nil client uses no proxy. It retries for
// about ten seconds.
func ECSTask(ctx context.Context, metadataURI string, client *http.Client) (arn string, err error) {
	err = again(ctx, func() error {
		task, err := readTask(ctx, metadataClient(client), metadataURI)
		if err == nil && !strings.HasPrefix(task.TaskARN, "arn:") {
			err = fmt.Errorf("found the ARN %.100q", task.TaskARN)
		}
		arn = task.TaskARN
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the id of the task: %w", err)
	}
	return arn, nil
}

// again calls once until it succeeds, at most identityTries times.
func again(ctx context.Context, once func() error) error {
	for try := 1; ; try++ {
		err := once()
		if err == nil || try == identityTries {
			return err
		}
		select {
		case <-time.After(identityPause):
		case <-ctx.Done():
			return err
		}
	}
}
