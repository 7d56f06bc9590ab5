package worker

import (
	"os"
	"strconv"
)

// DefaultMember returns the id of this worker's member: MUSTER_MEMBER, or else host name and process id.
func DefaultMember() string {
	if m := os.Getenv("MUSTER_MEMBER"); m != "" {
		return m
	}
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}
