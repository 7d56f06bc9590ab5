package cloudformation

import (
	"fmt"

	"github.com/muster-scale/muster/deploy/stack"
)

// This file writes the group with its launch template, and the cluster with its tasks.

// texts returns a list of texts.
func texts(all []string) (l list) {
	for _, x := range all {
		l = append(l, x)
	}
	return l
}

// tags returns the tag by which everything of a fleet is found.
func (w *writer) tags(rest ...member) list {
	return list{append(object{{key: "Key", value: "muster:fleet"}, {key: "Value", value: w.Fleet}}, rest...)}
}

// group adds the group, what its instances start from, and what keeps it from ending busy ones.
func (w *writer) group() {
	g := w.Group
	if g == nil {
		return
	}
	w.role("InstanceRole", g.Role)
	w.add("InstanceProfile", "AWS::IAM::InstanceProfile", "", object{{key: "Roles", value: list{ref("InstanceRole")}}})
	w.launchTemplate(g)
	// Without a policy of its own the group uses that of AWS, which knows nothing of idle workers. Every instance is
	// protected, so that it ends none.
	termination := list(nil)
	if g.Terminated {
		termination = list{attribute("TerminateFunction.Arn")}
	}
	// ECS refuses managed scaling of a group without its tag, also on the instances.
	managed := w.tags(member{key: "PropagateAtLaunch", value: true})
	if g.Hosts {
		managed = append(managed, object{{key: "Key", value: "AmazonECSManaged"}, {key: "Value", value: "true"},
			{key: "PropagateAtLaunch", value: true}})
	}
	bounds := func(least string) object { return object{{key: "Min", value: ref(least)}} }
	// The function has to be callable before the group asks it.
	after := object(nil)
	if g.Terminated {
		after = object{{key: "DependsOn", value: "TerminatePermission"}}
	}
	w.add("Group", "AWS::AutoScaling::AutoScalingGroup", "", object{
		{key: "AutoScalingGroupName", value: g.Name},
		{"MinSize", g.Min, "Muster or target tracking sets the desired size. It is not stated here."},
		{key: "MaxSize", value: g.Max},
		{key: "VPCZoneIdentifier", value: ref("SubnetIds")},
		{key: "DefaultInstanceWarmup", value: g.Warmup},
		{key: "NewInstancesProtectedFromScaleIn", value: true},
		{key: "TerminationPolicies", value: termination},
		{key: "MetricsCollection", value: list{object{{key: "Granularity", value: "1Minute"}}}},
		{key: "MixedInstancesPolicy", value: object{
			{key: "LaunchTemplate", value: object{
				{key: "LaunchTemplateSpecification", value: object{
					{key: "LaunchTemplateId", value: ref("LaunchTemplate")},
					{key: "Version", value: attribute("LaunchTemplate.LatestVersionNumber")}}},
				// Requirements instead of types: new types that fit are used, and many pools make interruptions rare.
				{key: "Overrides", value: list{object{{key: "InstanceRequirements", value: object{
					{key: "VCpuCount", value: append(bounds("MinVCpus"), member{key: "Max", value: ref("MaxVCpus")})},
					{key: "MemoryMiB", value: bounds("MinMemory")}}}}}}}},
			{key: "InstancesDistribution", value: object{
				// The default of AWS is 100: a group that does not state the share never has a Spot instance.
				{key: "OnDemandPercentageAboveBaseCapacity", value: ref("OnDemandShare")},
				{key: "SpotAllocationStrategy", value: "capacity-optimized"}}}}},
		{key: "Tags", value: managed},
	}, after...)
	if p := g.Pool; p != nil {
		w.add("WarmPool", "AWS::AutoScaling::WarmPool", "", object{
			{key: "AutoScalingGroupName", value: ref("Group")},
			{key: "MinSize", value: p.Size}, {"MaxGroupPreparedCapacity", p.Size,
				"The pool has this size also while the group is small."},
			{key: "PoolState", value: p.State},
			{key: "InstanceReusePolicy", value: object{{key: "ReuseOnScaleIn", value: p.Reuse}}}})
	}
	w.suspend(g)
}

// launchTemplate adds the template of the group's instances.
func (w *writer) launchTemplate(g *stack.Group) {
	w.add("LaunchTemplate", "AWS::EC2::LaunchTemplate", "", object{{key: "LaunchTemplateData", value: object{
		{key: "ImageId", value: ref("ImageId")},
		{key: "IamInstanceProfile", value: object{{key: "Arn", value: attribute("InstanceProfile.Arn")}}},
		{key: "SecurityGroupIds", value: ref("SecurityGroupIds")},
		// One hop: a container in a bridge on the instance cannot get the credentials of the instance.
		{key: "MetadataOptions", value: object{{key: "HttpTokens", value: "required"},
			{key: "HttpPutResponseHopLimit", value: 1}}},
		{"BlockDeviceMappings", list{object{{key: "DeviceName", value: "/dev/xvda"}, {key: "Ebs", value: object{
			{key: "Encrypted", value: true}, {key: "VolumeType", value: "gp3"}}}}},
			"The root volume of Amazon Linux."},
		{key: "TagSpecifications", value: list{object{{key: "ResourceType", value: "volume"},
			{key: "Tags", value: w.tags()}}}},
		{key: "UserData", value: encoded(g.UserData)},
	}}})
}

// suspend adds the schedule that suspends zone rebalancing, which ends instances without asking their workers.
func (w *writer) suspend(g *stack.Group) {
	arn := "arn:" + w.Partition() + ":autoscaling:" + w.Region + ":" + w.Account +
		":autoScalingGroup:*:autoScalingGroupName/" + g.Name
	w.role("SuspendRole", stack.Role{Service: "scheduler.amazonaws.com", Statements: []stack.Statement{{
		Sid: "AutoscalingOnGroup", Action: []string{"autoscaling:SuspendProcesses"},
		Resource: []stack.Text{stack.Say(arn)}}}})
	w.add("SuspendRebalancing", "AWS::Scheduler::Schedule",
		"CloudFormation cannot suspend the rebalancing of zones, which ends busy instances. This does, at once and "+
			"hourly.", object{
			{key: "ScheduleExpression", value: "rate(1 hours)"},
			{key: "FlexibleTimeWindow", value: object{{key: "Mode", value: "OFF"}}},
			{key: "Target", value: object{
				{key: "Arn", value: "arn:" + w.Partition() + ":scheduler:::aws-sdk:autoscaling:suspendProcesses"},
				{key: "RoleArn", value: attribute("SuspendRole.Arn")},
				{key: "Input", value: stack.Say(fmt.Sprintf(`{"AutoScalingGroupName": %q, "ScalingProcesses": `+
					`["AZRebalance"]}`, g.Name))}}},
		}, member{key: "DependsOn", value: "Group"})
}

// cluster adds the cluster, its capacity, the task definition, and the service if there is one.
func (w *writer) cluster() {
	c := w.Cluster
	if c == nil {
		return
	}
	insights := map[bool]string{true: "enabled", false: "disabled"}[c.Insights]
	w.add("Cluster", "AWS::ECS::Cluster", "", object{{key: "ClusterName", value: c.Name},
		{key: "ClusterSettings", value: list{object{{key: "Name", value: "containerInsights"},
			{key: "Value", value: insights}}}}})
	// The capacity is all on Fargate or all on the group: Muster counts on one boot time and one price.
	providers := texts(c.Fargate)
	if c.Provider != "" {
		providers = list{ref("CapacityProvider")}
		w.add("CapacityProvider", "AWS::ECS::CapacityProvider", "Managed scaling lets tasks without room wait instead "+
			"of failing. Muster sizes the group first, and ends only empty instances.", object{
			{key: "Name", value: c.Provider},
			{key: "AutoScalingGroupProvider", value: object{
				{key: "AutoScalingGroupArn", value: attribute("Group.AutoScalingGroupARN")},
				{key: "ManagedScaling", value: object{{key: "Status", value: "ENABLED"},
					{key: "TargetCapacity", value: 100}}},
				{key: "ManagedTerminationProtection", value: "DISABLED"},
				{key: "ManagedDraining", value: "DISABLED"}}}})
	}
	strategy := list{object{{key: "CapacityProvider", value: providers[0]}, {key: "Weight", value: 1}}}
	// A provider can be used only while it is associated, so the service depends on this resource.
	w.add("ClusterCapacity", "AWS::ECS::ClusterCapacityProviderAssociations", "", object{
		{key: "Cluster", value: ref("Cluster")}, {key: "CapacityProviders", value: providers},
		{key: "DefaultCapacityProviderStrategy", value: strategy}})
	w.role("TaskRole", c.TaskRole)
	w.role("ExecutionRole", c.ExecutionRole)
	w.add("Logs", "AWS::Logs::LogGroup", "", object{{key: "LogGroupName", value: c.Logs},
		{key: "RetentionInDays", value: stack.LogDays}})
	w.taskDefinition(c)
	if c.Service != "" {
		w.service(c, strategy)
	}
}

// taskDefinition adds the task definition with the worker as its container.
func (w *writer) taskDefinition(c *stack.Cluster) {
	needs := "FARGATE"
	if c.Provider != "" {
		needs = "EC2"
	}
	container := object{
		{key: "Name", value: "worker"},
		{key: "Image", value: stack.Join(stack.Say(w.Account+".dkr.ecr."+w.Region+"."+w.Suffix()+"/"),
			stack.Value("ImageRepository"), stack.Say(":"), stack.Value("ImageTag"))},
		{key: "EntryPoint", value: texts(c.Entry)},
		{key: "Command", value: ref("WorkCommand")},
		{key: "Environment", value: pairs(c.Environment, "Name", "Value")},
	}
	if c.Token {
		container = append(container, member{key: "Secrets", value: list{object{{key: "Name", value: "MUSTER_TOKEN"},
			{key: "ValueFrom", value: stack.Join(stack.Say("arn:"+w.Partition()+":ssm:"+w.Region+":"+w.Account+
				":parameter/"), stack.Value("TokenParameter"))}}}})
	}
	container = append(container, member{"StopTimeout", 120, "The most that Fargate allows."},
		member{key: "LogConfiguration", value: object{{key: "LogDriver", value: "awslogs"},
			{key: "Options", value: object{{key: "awslogs-group", value: ref("Logs")},
				{key: "awslogs-region", value: w.Region}, {key: "awslogs-stream-prefix", value: "worker"}}}}})
	// The mode awsvpc gives each task its own address and security groups, on Fargate and on instances alike.
	w.add("TaskDefinition", "AWS::ECS::TaskDefinition", "", object{
		{key: "Family", value: c.Family}, {key: "NetworkMode", value: "awsvpc"},
		{key: "RequiresCompatibilities", value: list{needs}},
		{key: "Cpu", value: ref("TaskCpu")}, {key: "Memory", value: ref("TaskMemory")},
		{key: "TaskRoleArn", value: attribute("TaskRole.Arn")},
		{key: "ExecutionRoleArn", value: attribute("ExecutionRole.Arn")},
		{key: "ContainerDefinitions", value: list{container}}})
}

// pairs returns alternating names and values as a list of objects.
func pairs(all []string, name, value string) (l list) {
	for i := 0; i+1 < len(all); i += 2 {
		l = append(l, object{{key: name, value: all[i]}, {key: value, value: all[i+1]}})
	}
	return l
}

// service adds the service. Without a stated count it begins with one task.
func (w *writer) service(c *stack.Cluster, strategy list) {
	placement := list(nil)
	if c.Provider != "" {
		// Tasks share instances, so that instances become empty and can end.
		placement = list{object{{key: "Type", value: "binpack"}, {key: "Field", value: "memory"}}}
	}
	w.add("Service", "AWS::ECS::Service", "", object{
		{key: "ServiceName", value: c.Service}, {key: "Cluster", value: ref("Cluster")},
		{key: "TaskDefinition", value: ref("TaskDefinition")},
		{key: "CapacityProviderStrategy", value: strategy},
		{key: "PlacementStrategies", value: placement},
		{"AvailabilityZoneRebalancing", "DISABLED", "Rebalancing stops busy tasks."},
		{key: "DeploymentConfiguration", value: object{{key: "MinimumHealthyPercent", value: 100},
			{key: "MaximumPercent", value: 200},
			{key: "DeploymentCircuitBreaker", value: object{{key: "Enable", value: true},
				{key: "Rollback", value: true}}}}},
		{key: "NetworkConfiguration", value: object{{key: "AwsvpcConfiguration", value: object{
			{key: "Subnets", value: ref("SubnetIds")}, {key: "SecurityGroups", value: ref("SecurityGroupIds")}}}}},
		{key: "PropagateTags", value: "SERVICE"}, {key: "Tags", value: w.tags()},
	}, member{key: "DependsOn", value: "ClusterCapacity"})
}
