package stack

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/deploy/iam"
	"github.com/muster-scale/muster/kind"
)

// This file makes what the members of a fleet are: instances of a group, or tasks of ECS on Fargate or on instances.

// members makes the group and the cluster of the blueprint.
func (m *maker) members() error {
	if m.b.Cluster != "" {
		return m.cluster()
	}
	return m.workerGroup()
}

// worker is how the members start their worker.
type worker struct {
	// arguments follow muster work. address is the controller's; empty where workers report elsewhere.
	arguments []string
	address   string
	flags     iam.Flags
}

// worker returns the command line of the fleet's workers, without the program for a message.
func (m *maker) worker() (worker, error) {
	w := worker{}
	add := func(words ...string) { w.arguments = append(w.arguments, words...) }
	for _, q := range m.f.Queues {
		add("--queue", q.URL)
	}
	add("--fleet", m.f.Name, "--member", "auto", "--slots", strconv.Itoa(m.f.Workers.Slots),
		"--visibility", m.f.Workers.Visibility.String())
	if m.Tracking != nil {
		to := "cloudwatch"
		if in := kind.NamespaceOf(m.f); in != kind.DefaultNamespace {
			to += ":" + in
		}
		add("--report", to)
		w.flags.Reports = append(w.flags.Reports, to)
	}
	if m.Table != "" {
		add("--report", "dynamodb:"+m.Table)
		w.flags.Reports = append(w.flags.Reports, "dynamodb:"+m.Table)
	}
	facts := m.f.Facts()
	if m.b.Group != "" && m.b.Cluster == "" && !facts.Reported {
		add("--protection", "instance")
		w.flags.Protection = true
	}
	// These workers say themselves that they are ready to stop; every other policy asks them.
	if m.f.Policy.Name == "exact" || m.b.Family != "" {
		add("--idle", "30s")
	}
	if !facts.Reported || m.Table != "" {
		return w, nil // workers that report to a table need not reach the controller
	}
	beyond := m.c.Listen.Beyond
	_, port, err := net.SplitHostPort(beyond.API)
	if err != nil || len(beyond.Hosts) == 0 {
		return w, fmt.Errorf("the workers of the fleet %s report to the controller, and nothing says where that is: "+
			"state listen.beyond with api and hosts, or reports: none", m.f.Name)
	}
	w.address = "https://" + net.JoinHostPort(beyond.Hosts[0], port)
	return w, nil
}

// token adds the parameter of the worker's token.
func (m *maker) token() Text {
	return m.need(Parameter{"TokenParameter", String, "The name, without the leading slash, of the secret parameter " +
		"of Systems Manager with the fleet's token: the text of DATA/fleet-tokens/" + m.Fleet, 0, 0})
}

// placed adds the parameters of the network.
func (m *maker) placed() {
	m.need(Parameter{"SubnetIds", Subnets, "The subnets of the fleet, in several zones", 0, 0})
	m.need(Parameter{"SecurityGroupIds", SecurityGroups, "Security groups that let HTTPS out and nothing in", 0, 0})
}

// group makes a group with what all groups have.
func (m *maker) group(minimum, maximum int) *Group {
	m.placed()
	most := Parameter{"OnDemandShare", Number, "Instances in 100 that are On-Demand; the others are Spot", 0, 100}
	if m.b.Pool != nil {
		// AWS keeps no Spot instances in a warm pool, and refuses the pool of a group with a share of Spot.
		most = Parameter{"OnDemandShare", Number, "Instances in 100 that are On-Demand: all, because a warm pool " +
			"has no Spot instances", 100, 100}
	}
	for _, p := range []Parameter{
		{"MinVCpus", Number, "The fewest vCPUs of an instance type", 1, 448},
		{"MaxVCpus", Number, "The most vCPUs of an instance type", 1, 448},
		{"MinMemory", Number, "The least memory of an instance type in MiB", 512, 24 << 20},
		most,
	} {
		m.need(p)
	}
	return &Group{Name: m.b.Group, Min: minimum, Max: maximum, Pool: m.b.Pool,
		Role: Role{Service: "ec2.amazonaws.com"}, Warmup: int(m.f.Workers.Boot.Round(time.Second) / time.Second)}
}

// workerGroup makes the group whose instances are the workers.
func (m *maker) workerGroup() error {
	w, err := m.worker()
	if err != nil {
		return err
	}
	g := m.group(m.f.Limits.Min, m.f.Limits.Max)
	m.need(Parameter{"ImageId", Image, "An image of Amazon Linux 2023; instance types follow its architecture", 0, 0})
	artefact := Join(Say("arn:"+kind.Partition(m.Region)+":s3:::"), m.artefacts(), Say("/"),
		m.need(Parameter{"PackageKey", String, "The key of Muster's rpm for that architecture in that bucket", 0, 0}))
	command := m.need(Parameter{"WorkCommand", String, "The program for a message and its arguments, as in " +
		"ExecStart= of systemd", 0, 0})
	if g.Role.Statements, err = m.permissions(kind.ModeWork, w.flags); err != nil {
		return err
	}
	g.Role.Statements = append(g.Role.Statements, Statement{Sid: "S3OnPackage", Action: []string{"s3:GetObject"},
		Resource: []Text{artefact}})
	token := Text(nil)
	if w.address != "" {
		token = m.token()
		g.Role.Statements = append(g.Role.Statements, m.mayRead("ssm:GetParameter", token))
	}
	g.UserData = m.boot(w, command, token)
	m.Group = g
	return nil
}

// mayRead allows to read the parameter with the token. Systems Manager decrypts it with its own key.
func (m *maker) mayRead(action string, token Text) Statement {
	return Statement{Sid: "SsmOnToken", Action: []string{action},
		Resource: []Text{Join(Say(m.at.ARN("ssm", m.Region, "parameter/")), token)}}
}

// boot returns the script that an instance runs when it is launched: it installs Muster and starts the worker as a
// service, which waits for messages in progress when it is stopped.
func (m *maker) boot(w worker, command, token Text) Text {
	script := Join(Say(`#!/bin/bash
set -euo pipefail
aws s3 cp --only-show-errors 's3://`), Value("ArtefactBucket"), Say("/"), Value("PackageKey"), Say(`' /tmp/muster.rpm
dnf install -y --quiet /tmp/muster.rpm
install -d -m 700 /etc/muster
`))
	if token != nil {
		script = Join(script, Say("umask 077\nprintf 'MUSTER_TOKEN=%s\\n' \"$(aws ssm get-parameter --with-decryption "+
			"--region "+m.Region+" \\\n  --query Parameter.Value --output text --name '/"), token,
			Say("')\" >/etc/muster/worker.env\n"))
		w.arguments = append(w.arguments, "--api", w.address)
	}
	var line strings.Builder
	for i, word := range w.arguments {
		if strings.HasPrefix(word, "--") && i > 0 {
			line.WriteString(" \\\n ")
		}
		line.WriteString(" " + strings.ReplaceAll(word, "%", "%%"))
	}
	return Join(script, Say(`cat >/etc/systemd/system/muster-worker.service <<'END'
[Unit]
Description=Worker of the fleet `+m.Fleet+`
Wants=network-online.target
After=network-online.target

[Service]
User=muster
StateDirectory=muster
WorkingDirectory=/var/lib/muster
Environment=AWS_REGION=`+m.Region+`
EnvironmentFile=-/etc/muster/worker.env
ExecStart=/usr/bin/muster work`+line.String()+` \
  -- `), command, Say(`
Restart=always
RestartSec=5s
KillMode=mixed
TimeoutStopSec=15min
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload
systemctl enable --now muster-worker
`))
}

// cluster makes the cluster with the task definition, and the group under it if there is one.
func (m *maker) cluster() error {
	if m.b.Service == "" && !m.b.Fargate {
		return fmt.Errorf("the tasks of the fleet %s run on instances that the configuration does not name: a "+
			"template needs launch_type: fargate or only Fargate's capacity_providers, or a service with capacity",
			m.f.Name)
	}
	w, err := m.worker()
	if err != nil {
		return err
	}
	c := &Cluster{Name: m.b.Cluster, Family: m.b.Family, Service: m.b.Service, Logs: "/muster/" + m.Fleet,
		Entry:    append(append([]string{"/usr/bin/muster", "work"}, w.arguments...), "--"),
		Insights: m.Tracking != nil && tracksInsights(m.Tracking.Metrics), Token: w.address != "",
		TaskRole: Role{Service: "ecs-tasks.amazonaws.com"}, ExecutionRole: Role{Service: "ecs-tasks.amazonaws.com"}}
	if m.b.Fargate {
		// A task can only be started on a provider that its cluster has.
		if c.Fargate = m.b.Providers; len(c.Fargate) == 0 {
			c.Fargate = []string{"FARGATE"}
		}
	}
	if c.Family == "" {
		c.Family = m.Label() // a family has no dots
	}
	if c.Service != "" {
		m.placed() // tasks without a service have their network in the configuration
	}
	if w.address != "" {
		c.Environment = append(c.Environment, "MUSTER_API_URL", w.address)
	}
	c.Environment = append(c.Environment, "AWS_REGION", m.Region)
	repository := m.need(Parameter{"ImageRepository", String, "The name of the repository of ECR, in this account " +
		"and region, with an image that has /usr/bin/muster and your program", 0, 0})
	m.need(Parameter{"ImageTag", String, "The tag of that image", 0, 0})
	m.need(Parameter{"WorkCommand", Words, "The program for a message and its arguments, in the image", 0, 0})
	m.need(Parameter{"TaskCpu", Number, "The CPU of a task in units; 1024 are a vCPU", 128, 16384})
	m.need(Parameter{"TaskMemory", Number, "The memory of a task in MiB", 128, 122880})
	if c.TaskRole.Statements, err = m.permissions(kind.ModeWork, w.flags); err != nil {
		return err
	}
	c.ExecutionRole.Statements = m.mayStart(c, repository)
	m.Cluster = c
	if m.b.Group != "" {
		m.hosts()
	}
	return nil
}

// tracksInsights tells whether a metric of Container Insights is tracked.
func tracksInsights(all []kind.TrackedMetric) bool {
	for _, m := range all {
		if m.Namespace == "ECS/ContainerInsights" {
			return true
		}
	}
	return false
}

// hosts makes the group whose instances the tasks run on. Its limits are those of the service in instances.
func (m *maker) hosts() {
	per := m.b.TasksPerInstance
	g := m.group((m.f.Limits.Min+per-1)/per, (m.f.Limits.Max+per-1)/per)
	m.need(Parameter{"ImageId", Image, "An image of Amazon Linux 2023 that is optimized for ECS", 0, 0})
	g.Hosts, m.Cluster.Provider = true, m.provider()
	g.Role.Statements = m.mayHost()
	// The agent takes the permissions for images and logs from the role of the task, so the instance needs none.
	g.UserData = Say(`#!/bin/bash
cat >>/etc/ecs/ecs.config <<'END'
ECS_CLUSTER=` + m.b.Cluster + `
ECS_ENABLE_AWSLOGS_EXECUTIONROLE_OVERRIDE=true
ECS_ENABLE_SPOT_INSTANCE_DRAINING=true
ECS_WARM_POOLS_CHECK=true
ECS_AWSVPC_BLOCK_IMDS=true
END
`)
	m.Group = g
}
