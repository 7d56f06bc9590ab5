package cloud

import "strings"

type ecsState struct{}
type scalable struct{}

func newECSState() ecsState { return ecsState{} }

// Tasks are how tasks behave.
type Tasks struct{}

func (t Tasks) withDefaults() Tasks { return t }

func (w *World) joinCluster(*instance)  {}
func (w *World) leaveCluster(*instance) {}
func (w *World) publishECS()            {}

func splitService(resource string) (cluster, service string) {
	parts := strings.Split(resource, "/")
	if len(parts) != 3 {
		return "", ""
	}
	return parts[1], parts[2]
}
