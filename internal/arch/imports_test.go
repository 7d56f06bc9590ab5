package arch_test

import (
	"go/ast"
	"go/token"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-scale/muster/kinds"
)

// layers lists the packages from the vocabulary down to the commands. A package may import those above it.
var layers = []string{
	"internal/misuse",
	"internal/render",
	"internal/terminal",
	"internal/built",
	"event",
	"metrics",
	"override",
	"",
	"guard",
	"series",
	"worker/protocol",
	"metricmath/language",
	"metricmath",
	"awsrules/alarm",
	"awsrules/tracking",
	"awsrules/stepscaling",
	"awsrules/warmpool",
	"awsrules/spot",
	"awsrules/counts",
	"policy/internal/rules",
	"policy/internal/congestion",
	"policy/internal/durations",
	"policy/internal/arrivals",
	"policy/internal/lateness",
	"policy/internal/quiet",
	"policy/internal/race",
	"policy/internal/renewal",
	"policy/internal/risk",
	"policy/internal/room",
	"policy/internal/scarcity",
	"policy/internal/silent",
	"policy/internal/saturation",
	"policy/internal/start",
	"policy/outlook",
	"policy/planning",
	"policy/instructed",
	"policy",
	"policy/peer",
	"roster",
	"tree",
	"tree/treetest",
	"worker/lease",
	"controller/learning",
	"controller",
	"controller/audit",
	"advice",
	"incident",
	"leader",
	"controller/loop",
	"internal/pgurl",
	"config/keys",
	"config/channels",
	"config/policies",
	"config/sharing",
	"config",
	"config/edit",
	"config/settings",
	"config/foreign/nodes",
	"config/foreign/terraform",
	"config/foreign/template",
	"config/foreign/draft",
	"config/foreign/aws",
	"config/foreign/kubernetes",
	"config/foreign",
	"internal/accept",
	"internal/awsapi",
	"internal/awsmetrics",
	"event/receiver",
	"internal/descendants",
	"internal/durable",
	"internal/exposition",
	"internal/lifecycle",
	"internal/sqlitefile",
	"internal/joblog",
	"internal/host",
	"tree/sqlitetree",
	"internal/attribute",
	"tree/dynamotree",
	"history/internal/rules",
	"history/dynamohistory",
	"history/pghistory",
	"history",
	"history/curves",
	"history/historytest",
	"leader/leasetest",
	"leader/dynamolease",
	"leader/pglease",
	"leader/term",
	"queue/internal/machine",
	"queue/internal/storage/oplog",
	"queue/internal/storage",
	"queue/internal/rules",
	"queue/internal/writer",
	"queue/check",
	"queue",
	"sqsapi/internal/protocol",
	"sqsapi/internal/sigv4",
	"sqsapi/internal/action",
	"sqsapi/internal/transport",
	"sqsapi",
	"worker/internal/trouble",
	"worker/usage",
	"worker",
	"worker/execution",
	"worker/ledger",
	"worker/placement",
	"worker/sqsqueue",
	"worker/httpreport",
	"worker/autoscaling",
	"worker/cloudwatch",
	"worker/dynamoreport",
	"worker/sqsworker",
	"tree/runner",
	"notice",
	"kind",
	"channel/",
	"source/",
	"fleet/split",
	"fleet/asg",
	"fleet/ecs",
	"fleet/process",
	"fleet/delegate",
	"fleet/",
	"kinds/remote",
	"kinds",
	"sim/trace/internal/chance",
	"sim/trace",
	"sim/trace/statistics",
	"sim/trace/recorded",
	"sim/limit/internal/linear",
	"sim/limit",
	"sim/limit/uninformed",
	"sim/cloud/account",
	"sim/cloud/monitoring",
	"sim/cloud/queues",
	"sim/cloud/scaling",
	"sim/cloud/groupapi",
	"sim/cloud/termination",
	"sim/cloud/groups",
	"sim/cloud/containers",
	"sim/cloud",
	"sim/world",
	"sim/scoring",
	"sim/internal/kernel",
	"sim/internal/trees",
	"sim/internal/messages",
	"sim/internal/laws",
	"sim/queueing",
	"sim",
	"sim/contest",
	"sim/variants",
	"app/playground",
	"sim/worlds",
	"sim/report",
	"server/session",
	"server/stream",
	"server/page",
	"server",
	"server/board",
	"deploy",
	"deploy/iam",
	"deploy/dashboard",
	"deploy/alerts",
	"deploy/stack",
	"deploy/stack/",
	"deploy/",
	"mustertest",
	"mustertest/faketable",
	"mustertest/postgres",
	"mustertest/fakeaws",
	"app/opening",
	"app/sharing",
	"app/turns",
	"app/handover",
	"app",
	"sim/threshold",
	"sim/tables",
	"sim/comparison",
	"sim/tournament",
	"app/client",
	"app/logs",
	"app/queuetool",
	"app/treetool",
	"app/work",
	"app/testload",
	"app/importing",
	"app/status",
	"app/top",
	"app/incidents",
	"app/operate",
	"app/doctor",
	"app/explain",
	"app/plan",
	"app/publish",
	"app/simulation",
	"app/replay",
	"app/advise",
	"app/console",
	"app/demo",
	"app/function",
	"app/validate",
	"cmd/muster/internal/command",
	"cmd/muster/internal/",
	"cmd/",
	"tools/score/scoretest",
	"tools/score/report",
	"tools/score/arena",
	"tools/score/box",
	"tools/score/prior",
	"tools/bench/reaction",
	"tools/",
	"internal/",
	"examples/",
	"interop",
	"interop/",
}

// layer returns the place of a package in layers, or -1.
func layer(pkg string) int {
	return slices.IndexFunc(layers, func(l string) bool {
		return pkg == l || strings.HasSuffix(l, "/") && strings.HasPrefix(pkg, l)
	})
}

func TestAPackageImportsOnlyPackagesAboveIt(t *testing.T) {
	for _, s := range sources(t) {
		mine := layer(s.pkg)
		if mine < 0 {
			t.Errorf("%s: package %q has no place in the list of packages.\nwhy: a stranger finds code by the list "+
				"in the design. fix: put it in layers, where it belongs", s.path, s.pkg)
			continue
		}
		if s.test {
			continue
		}
		for _, i := range s.syntax.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			pkg, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			if theirs := layer(strings.TrimPrefix(pkg, "/")); theirs >= mine {
				t.Errorf("%s imports %s, which is not above it.\nwhy: decisions depend on nothing that acts. fix: "+
					"move the shared part up, or declare a small interface beside its consumer", s.path, path)
			}
		}
	}
}

// pure lists the packages that compute and do nothing else, and what of the standard library they may use.
var pure = []string{
	"",
	"internal/render",
	"metrics",
	"override",
	"guard",
	"series",
	"worker/protocol",
	"metricmath/language",
	"metricmath",
	"policy/instructed",
	"awsrules/alarm",
	"awsrules/tracking",
	"awsrules/stepscaling",
	"awsrules/warmpool",
	"awsrules/spot",
	"awsrules/counts",
	"policy/internal/rules",
	"policy/internal/congestion",
	"policy/internal/durations",
	"policy/internal/arrivals",
	"policy/internal/lateness",
	"policy/internal/quiet",
	"policy/internal/race",
	"policy/internal/renewal",
	"policy/internal/risk",
	"policy/internal/room",
	"policy/internal/scarcity",
	"policy/internal/silent",
	"policy/internal/saturation",
	"policy/internal/start",
	"policy/outlook",
	"policy/planning",
	"policy",
	"policy/peer",
	"roster",
	"tree",
	"tree/treetest",
	"worker/lease",
	"internal/lifecycle",
	"queue/internal/machine",
	"queue/internal/rules",
	"sim/cloud/account",
	"sim/cloud/monitoring",
	"sim/cloud/queues",
	"sim/cloud/scaling",
	"sim/cloud/groupapi",
	"sim/cloud/termination",
	"sim/cloud/groups",
	"sim/cloud/containers",
	"sim/cloud",
	"controller/learning",
	"controller",
	"controller/audit",
	"incident",
	"leader",
	"history/internal/rules",
}

var pureImports = []string{
	"bytes", "cmp", "context", "crypto/sha256", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt",
	"hash/crc32", "iter", "maps", "math", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8",
}

func TestPurePackagesUseOnlyThePureStandardLibrary(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pure, s.pkg) {
			continue
		}
		for _, i := range s.syntax.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			reads := path == "unsafe" &&
				s.path == "queue/internal/machine/record.go" // a text as bytes, without a copy
			if !strings.HasPrefix(path, module) && !slices.Contains(pureImports, path) && !reads {
				t.Errorf("%s imports %s.\nwhy: a decision is a function of values; files, networks, locks, logs and "+
					"chance are for the shell. fix: pass the value in", s.path, path)
			}
		}
	}
}

// TestTheSimulatorNeedsNothingThatActs holds that a simulated run is linked with the pure parts of production alone.
func TestTheSimulatorNeedsNothingThatActs(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./sim")
	list.Dir = "../.."
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("list what the simulator needs: %v\n%s", err, out)
	}
	found := strings.Fields(string(out))
	if !slices.Contains(found, module+"/controller") {
		t.Fatalf("found %q: the test looks in the wrong place", found)
	}
	for _, pkg := range found {
		// Traces are files; x/sys moves them in one step.
		if !strings.HasPrefix(pkg, module) && pkg != "golang.org/x/sys/unix" {
			t.Errorf("package sim needs %s.\nwhy: what is simulated is a function of values; clients of AWS and "+
				"SQLite act. fix: move the pure part that is needed to a package of its own", pkg)
		}
	}
}

// TestAKindIsNamedInItsFolderAndInTheTableAlone holds that a kind of fleet or source can be added, and taken away, by
// one folder and one row.
func TestAKindIsNamedInItsFolderAndInTheTableAlone(t *testing.T) {
	isKind := func(pkg string) bool {
		return strings.HasPrefix(pkg, "fleet/") || strings.HasPrefix(pkg, "source/") ||
			strings.HasPrefix(pkg, "channel/")
	}
	keys := map[string]bool{}
	for _, r := range kinds.Table().Members {
		keys[r.Key] = r.Key != "" // the first kind has no key
	}
	for _, s := range sources(t) {
		if s.test || isKind(s.pkg) || strings.HasPrefix(s.pkg, "kinds") ||
			s.pkg == "tools/decision" { // which follows one of one kind
			continue
		}
		for _, i := range s.syntax.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if pkg, ours := strings.CutPrefix(path, module+"/"); ours && isKind(pkg) {
				t.Errorf("%s imports %s.\nwhy: who names one kind has to be changed for the next. fix: ask package "+
					"kinds for the table, "+
					"and let package kind or config say what a kind must be able to tell", s.path, pkg)
			}
		}
		// The placement of a worker is a setting of its own, whose values are named as the kinds are.
		if s.pkg != "app/work" {
			for at, key := range compared(s, keys) {
				t.Errorf("%s:%d asks whether a kind is %q.\nwhy: who names one kind has to be changed for the next. "+
					"fix: let config.Facts, or package kind, say what is asked here", s.path, at, key)
			}
		}
	}
}

// compared returns the lines at which a source compares something with one of the keys.
func compared(s source, keys map[string]bool) map[int]string {
	found := map[int]string{}
	look := func(all ...ast.Expr) {
		for _, e := range all {
			if l, ok := e.(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(l.Value); err == nil && keys[text] {
					found[s.fileset.Position(l.Pos()).Line] = text
				}
			}
		}
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				look(n.X, n.Y)
			}
		case *ast.CaseClause:
			look(n.List...)
		}
		return true
	})
	return found
}
