package cloud

import "time"

// provided are groups as ECS knows them.
type provided struct{ of *AutoScaling }

// Group implements Groups.
func (p provided) Group(nameOrARN string) (HostGroup, bool) {
	s, found := p.of.sizeOf(nameOrARN)
	if !found {
		return HostGroup{}, false
	}
	g := HostGroup{Name: s.Name, Min: s.Min, Max: s.Max, Desired: s.Desired, Weighted: s.Weighted, Protects: s.Protects}
	for _, i := range p.of.serving(s.Name) {
		g.Serving = append(g.Serving, Host(i))
	}
	return g, true
}

// Resize implements Groups.
func (p provided) Resize(group string, desired int) { p.of.setDesired(group, desired) }

// Protect implements Groups.
func (p provided) Protect(instance string, on bool) { p.of.protect(instance, on) }

// tracked are groups as scaling policies know them.
type tracked struct{ of *AutoScaling }

// MayChange implements Groups2.
func (t tracked) MayChange(name string) error { return t.of.mayChange(name) }

// Group implements Groups2.
func (t tracked) Group(name string) (Tracked, bool) {
	s, found := t.of.sizeOf(name)
	if !found || s.Name != name {
		return Tracked{}, false
	}
	return Tracked{Min: s.Min, Max: s.Max, Desired: s.Desired, InService: s.InService, Warmup: s.Warmup,
		Cooldown: s.Cooldown, Alarms: s.Alarms,
		Warming: func(warmup time.Duration) bool { return t.of.warming(name, warmup) }}, true
}

// Resize implements Groups2.
func (t tracked) Resize(name string, desired int) { t.of.setDesired(name, desired) }

// countedServices are services as Application Auto Scaling knows them.
type countedServices struct{ of *ECS }

// service finds a service, nil for none.
func (c countedServices) service(cluster, service string) Service2 {
	if s := c.of.scalable(cluster, service); s != nil {
		return scaledService{c.of, s}
	}
	return nil
}

// scaledService is a service that is scaled.
type scaledService struct {
	of *ECS
	*service
}

// Count implements Service2.
func (s scaledService) Count() (desired int, active, deploying bool) {
	return s.DesiredCount, s.active(), s.deploying()
}

// SetCount implements Service2.
func (s scaledService) SetCount(desired int) { s.of.setCount(s.service, desired) }
