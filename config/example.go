package config

import _ "embed"

//go:embed example.yaml
var example string

// Example returns a configuration with a comment on every key; it can be parsed.
func Example() string { return example }
