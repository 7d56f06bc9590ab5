package config

import "github.com/muster-scale/muster/config/keys"

// checkShared requires, of controllers on several machines, fleets that each of them can size: workers and embedded
// queues of one machine cannot follow a controller to another one.
func (c *Config) checkShared(s *keys.Source) {
	if !c.Controllers.Several() {
		return
	}
	const fix = "for controllers that take turns on one machine, state store: file"
	for i, f := range c.Fleets {
		path := keys.Element("fleets", i)
		if f.Local() {
			s.Fault(path, "found workers that are processes of this machine, allowed with this store of controllers "+
				"are fleets that every machine can size", fix)
			continue
		}
		for j, q := range f.Queues {
			if q.Own() {
				s.Fault(f.queuePath(s, path, j), "found an embedded queue, allowed with this store of controllers are "+
					"queues that every machine can reach", fix)
			}
		}
	}
}
