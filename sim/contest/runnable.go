package contest

import "github.com/muster-scale/muster/internal/misuse"

// Runnable returns an error about the request when the policy needs a duration that e does not state.
func (c Contender) Runnable(e Event) error {
	if c.NeedsMean() && e.Prior == 0 && !e.TellMean {
		return misuse.Errorf("the policy %s needs the mean processing duration, and nothing states it; "+
			"give --processing mean, or a duration", c.Name)
	}
	return nil
}
