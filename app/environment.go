package app

// The variables by which a fleet tells the workers that it starts on this machine what they need. Values stay out of
// the command line, which everybody on the machine can read.
const (
	// LogsVariable names the directory of the fleets' logs, TreesVariable where trees are kept: see [OpenTrees].
	LogsVariable  = "MUSTER_LOGS"
	TreesVariable = "MUSTER_TREES"
	// WorkVariable holds all that the worker is to do: a [Started] as text.
	WorkVariable = "MUSTER_WORK"
	// QueueKeyVariable and QueueSecretVariable hold the keys of the embedded queue. They are not those of AWS: a worker
	// may report there, with keys of its own.
	QueueKeyVariable    = "MUSTER_QUEUE_ACCESS_KEY_ID"
	QueueSecretVariable = "MUSTER_QUEUE_SECRET_ACCESS_KEY"
)
