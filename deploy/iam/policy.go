package iam

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
)

// MaxSize is the largest size of the policies of a role together in characters, without white space. A managed policy
// may have 6,144.
const MaxSize = 10_240

// Options say what a policy is for.
type Options struct {
	// Mode is the way to run the program.
	Mode kind.Mode
	// Account is the number of the account, twelve digits. It may be empty if the URL of a queue or the ARN of a
	// cluster has it. Region is for what names no region; it may be empty if everything does.
	Account, Region string
	// PassRoles are the ARNs of the roles of task definitions; none means any role that is passed to tasks.
	PassRoles []string
	// Workers are the flags of muster work on other machines, which the configuration does not have.
	Workers Flags
	// History is the table of DynamoDB with the history of a function: the name, or dynamodb: and the name. Empty means
	// none.
	History string
}

// Policy is a policy document of IAM.
type Policy struct {
	Version   string
	Statement []Statement
}

// Statement allows actions on resources.
type Statement struct {
	Sid      string
	Effect   string
	Action   []string
	Resource []string
	// Condition holds values by key by operator; nil for none.
	Condition map[string]map[string][]string `json:",omitempty"`
}

// Help describes the modes for the help of muster iam.
const Help = `Iam prints the policy that the role of a program needs: the actions that it calls, on the resources that
the configuration names. It calls nothing. The modes are

  up       muster up, also with the workers of its local fleets
  work     muster work: the workers on instances and in tasks
  plan     muster plan and other commands that only read
  publish  muster publish
  doctor   muster doctor
  advise   muster advise --cloudwatch

and the functions of muster-lambda by their names: step, event, publish-metric, set-target, terminate, hook and send.

Some actions cannot be restricted to resources; the Sid of their statement ends with NoResourceLevel. docs/iam.md
explains each permission.`

// Size returns the size of the policy as IAM counts it, to compare with [MaxSize].
func (p Policy) Size() int {
	text, err := json.Marshal(p)
	if err != nil {
		return 0 // cannot happen: a policy consists of texts
	}
	return len(text)
}

// Make returns the policy for the named fleets of a configuration; no name means all. An error says which option is
// missing or wrong, or that the configuration calls nothing on AWS in the mode: IAM refuses a policy without
// statements.
func Make(c *config.Config, table kind.Table, o Options, fleets ...string) (Policy, error) {
	p, err := made(c, table, o, fleets)
	if err != nil {
		return p, fmt.Errorf("make an IAM policy: %w", err)
	}
	return p, nil
}

// Text returns the policy of [Make] as JSON, ready for IAM.
func Text(c *config.Config, table kind.Table, o Options, fleets ...string) ([]byte, error) {
	p, err := Make(c, table, o, fleets...)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	return append(text, '\n'), err
}

// made is Make without the words that every error begins with.
func made(c *config.Config, table kind.Table, o Options, names []string) (Policy, error) {
	if !slices.Contains(kind.ModeNames(), string(o.Mode)) {
		return Policy{}, fmt.Errorf("--mode: found %q, allowed is %s", o.Mode, words(kind.ModeNames()))
	}
	if err := o.check(); err != nil {
		return Policy{}, err
	}
	fleets, err := chosen(c, names)
	if err != nil {
		return Policy{}, err
	}
	var all []kind.Permission
	for _, f := range fleets {
		at := kind.Place{Account: cmp.Or(o.Account, accountOf(f)), Region: o.Region}
		one, err := permissions(c, table, f, at, o)
		if err != nil {
			return Policy{}, err
		}
		one = slices.DeleteFunc(one, func(p kind.Permission) bool { return !slices.Contains(p.Modes, o.Mode) })
		for i := range one {
			if one[i].Action == "iam:PassRole" && len(o.PassRoles) > 0 {
				one[i].On = o.PassRoles
			}
		}
		if err := complete("fleet "+f.Name, one); err != nil {
			return Policy{}, err
		}
		all = append(all, one...)
	}
	if o.Mode == kind.ModeUp {
		events, err := eventPermissions(c, o)
		if err != nil {
			return Policy{}, err
		}
		all = append(append(all, events...), channelPermissions(c)...)
	}
	if len(all) == 0 {
		return Policy{}, fmt.Errorf("in the mode %s the configuration calls nothing on AWS, so no policy is needed; "+
			"name the configuration with -f FILE", o.Mode)
	}
	p := Policy{Version: "2012-10-17", Statement: statements(all)}
	if n := p.Size(); n > MaxSize {
		return Policy{}, fmt.Errorf("the policy would have %d characters, a role may have %d: make one for each role, "+
			"by naming its fleets", n, MaxSize)
	}
	return p, nil
}

// check returns an error for an option whose value would give a policy that is not sufficient.
func (o Options) check() error {
	switch {
	case o.Account != "" && !isAccount(o.Account):
		return fmt.Errorf("--account: found %q, allowed are the twelve digits of an account", o.Account)
	case o.History == "" && (o.Mode == kind.ModeStep || o.Mode == kind.ModeEvent):
		return fmt.Errorf("the function %s keeps its history in a table: name it with --history dynamodb:TABLE", o.Mode)
	}
	for _, role := range o.PassRoles {
		if part := strings.SplitN(role, ":", 6); len(part) < 6 || part[0] != "arn" || part[2] != "iam" ||
			!strings.HasPrefix(part[5], "role/") {
			return fmt.Errorf("--pass-role: found %q, allowed is the ARN of a role, as in "+
				"arn:aws:iam::123456789012:role/tasks", role)
		}
	}
	return o.Workers.check()
}

// eventPermissions returns what receiving from the queues of events needs. A queue on this machine is not on AWS.
func eventPermissions(c *config.Config, o Options) (all []kind.Permission, err error) {
	for _, e := range c.Events {
		q := e.Queue
		if !q.Remote {
			continue
		}
		at := kind.Place{Account: cmp.Or(accountIn(q.URL), o.Account), Region: o.Region}
		on := []string{at.ARN("sqs", q.Region, q.Name)}
		one := kind.AllowWrites([]kind.Mode{kind.ModeUp}, on, "sqs:ReceiveMessage", "sqs:DeleteMessage")
		if err := complete("queue of events "+q.Name, one); err != nil {
			return nil, err
		}
		all = append(all, one...)
	}
	return all, nil
}

// channelPermissions returns what telling the channels of a configuration needs.
func channelPermissions(c *config.Config) (all []kind.Permission) {
	for _, n := range c.Notify {
		if p, ok := n.To.(kind.PermittedChannel); ok {
			all = append(all, p.Permissions()...)
		}
	}
	return all
}

// accountIn returns the account in the URL of a queue of SQS; empty if there is none.
func accountIn(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if !isAccount(first) {
		return ""
	}
	return first
}

// words joins names for a message.
func words(names []string) string {
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// chosen returns the named fleets; all without a name.
func chosen(c *config.Config, names []string) ([]config.Fleet, error) {
	if len(names) == 0 {
		return c.Fleets, nil
	}
	var fleets []config.Fleet
	for _, name := range names {
		i := slices.IndexFunc(c.Fleets, func(f config.Fleet) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("found no fleet %q in the configuration", name)
		}
		fleets = append(fleets, c.Fleets[i])
	}
	return fleets, nil
}

// permissions returns what a fleet needs in all modes.
func permissions(c *config.Config, table kind.Table, f config.Fleet, at kind.Place, o Options) ([]kind.Permission,
	error) {
	var all []kind.Permission
	add := func(x any) {
		if p, ok := x.(kind.Permitted); ok {
			all = append(all, p.Permissions(at, f)...)
		}
	}
	for i, q := range f.Queues {
		row, err := table.Queue(q)
		if err != nil {
			return nil, err
		}
		if row.Permissions != nil {
			all = append(all, row.Permissions(at, c.AWS, f, i)...)
		}
	}
	members, err := table.MembersOf(f)
	if err != nil {
		return nil, err
	}
	add(members)
	for _, s := range kind.SignalsOf(f) {
		add(s)
	}
	all = append(all, table.MeterPermissions(f)...)
	if sizer := kind.SizerOf(f); sizer != nil {
		add(sizer)
	} else {
		all = append(all, table.PublisherPermissions(f)...)
	}
	all = functionPermissions(at, f, append(all, workerPermissions(at, f, o.Workers)...), o.History)
	all = append(all, controllerPermissions(at, c)...)
	all = append(all, advisePermissions(f)...)
	if f.Local() {
		// The workers of this machine are children of muster up and have its credentials.
		for i := range all {
			if slices.Contains(all[i].Modes, kind.ModeWork) {
				all[i].Modes = append(slices.Clone(all[i].Modes), kind.ModeUp)
			}
		}
	}
	return all, nil
}

// accountOf returns the account in the configuration of a fleet: of a queue's URL or of an ARN. It is empty if there is
// none.
func accountOf(f config.Fleet) string {
	if parts := strings.Split(f.Facts().Tracked.Cluster, ":"); len(parts) == 6 {
		return parts[4]
	}
	for _, q := range f.Queues {
		if q.Remote {
			return accountIn(q.URL)
		}
	}
	return ""
}

// complete returns an error for ARNs without an account or a region. what needs them is for the message.
func complete(what string, all []kind.Permission) error {
	for _, p := range all {
		for _, arn := range p.On {
			part := strings.SplitN(arn, ":", 6)
			switch {
			case len(part) < 6 || !isAccount(part[4]):
				return fmt.Errorf("the %s needs %s, and nothing names the account: give its twelve digits with "+
					"--account", what, p.Action)
			case part[3] == "" && part[2] != "iam":
				return fmt.Errorf("the %s needs %s, and nothing names the region: give it with --region, or "+
					"state it in the configuration", what, p.Action)
			}
		}
	}
	return nil
}

// isAccount tells whether text is the number of an account.
func isAccount(text string) bool {
	return len(text) == 12 && strings.Trim(text, "0123456789") == ""
}

// rule is an action with its conditions. For marks a permission that AWS checks on behalf of another action.
type rule struct {
	action, when, of string
}

// statements groups permissions so that no statement allows more than they do: first all resources of an action, then
// all actions with equal resources.
func statements(all []kind.Permission) []Statement {
	on, conditions := map[rule]map[string]bool{}, map[string][]kind.Condition{}
	for _, p := range all {
		when := fmt.Sprint(p.When)
		conditions[when] = p.When
		r := rule{p.Action, when, p.For}
		if on[r] == nil {
			on[r] = map[string]bool{}
		}
		if len(p.On) == 0 {
			on[r]["*"] = true
		}
		for _, arn := range p.On {
			on[r][arn] = true
		}
	}
	grouped := map[string]*Statement{}
	for _, r := range slices.SortedFunc(maps.Keys(on), func(a, b rule) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.action, b.action), cmp.Compare(a.when, b.when))
	}) {
		resources := slices.Sorted(maps.Keys(on[r]))
		service, _, _ := strings.Cut(r.action, ":")
		key := strings.Join(append([]string{r.of, service, r.when}, resources...), " ")
		if grouped[key] == nil {
			grouped[key] = &Statement{Sid: sid(service, resources, conditions[r.when], r.of), Effect: "Allow",
				Resource: resources, Condition: conditionsOf(conditions[r.when])}
		}
		grouped[key].Action = append(grouped[key].Action, r.action)
	}
	return numbered(grouped)
}

// numbered returns the statements in the order of their keys, and makes their names different.
func numbered(grouped map[string]*Statement) []Statement {
	var all []Statement
	seen := map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(grouped)) {
		s := *grouped[key]
		if seen[s.Sid]++; seen[s.Sid] > 1 {
			s.Sid = fmt.Sprint(s.Sid, seen[s.Sid])
		}
		all = append(all, s)
	}
	return all
}

// sid names a statement by its service and what restricts it. IAM allows letters and digits only.
func sid(service string, resources []string, when []kind.Condition, of string) string {
	name := title(strings.ReplaceAll(service, "-", " "))
	switch {
	case of != "":
		_, action, found := strings.Cut(of, ":")
		if !found {
			action = "Agent" // the endpoint of ECS in a task
		}
		return name + "For" + action
	case resources[0] != "*":
		return name + "On" + typeOf(resources[0])
	case len(when) > 0:
		_, key, _ := strings.Cut(when[0].Key, ":")
		return name + "In" + title(strings.ReplaceAll(key, "-", " "))
	}
	return name + "NoResourceLevel"
}

// typeOf returns the type of the resource in an ARN. A queue's ARN has none.
func typeOf(arn string) string {
	part := strings.SplitN(arn, ":", 6)
	i := strings.IndexAny(part[5], ":/")
	if i < 0 {
		return "Queue"
	}
	return title(strings.ReplaceAll(part[5][:i], "-", " "))
}

// title joins words, each with a capital letter.
func title(text string) string {
	var b strings.Builder
	for _, word := range strings.Fields(text) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// conditionsOf returns conditions in the form of a policy document.
func conditionsOf(all []kind.Condition) map[string]map[string][]string {
	if len(all) == 0 {
		return nil
	}
	m := map[string]map[string][]string{}
	for _, c := range all {
		if m[c.Test] == nil {
			m[c.Test] = map[string][]string{}
		}
		m[c.Test][c.Key] = append(m[c.Test][c.Key], c.Value)
	}
	return m
}
