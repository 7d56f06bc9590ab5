package terraform

import (
	"github.com/muster-scale/muster/deploy/stack"
)

// This file writes the group with its launch template, and the cluster with its tasks.

// group adds the group and what its instances start from.
func (w *writer) group() {
	g := w.Group
	if g == nil {
		return
	}
	w.role("instance", g.Role)
	w.resource("aws_iam_instance_profile", "instance", "", body{{key: "role",
		value: expression("aws_iam_role.instance.name")}})
	w.resource("aws_launch_template", "group", "", body{
		{key: "image_id", value: stack.Value("ImageId")},
		{key: "vpc_security_group_ids", value: stack.Value("SecurityGroupIds")},
		{key: "user_data", value: heredoc{g.UserData, true}},
		{key: "iam_instance_profile", value: body{{key: "arn",
			value: expression("aws_iam_instance_profile.instance.arn")}}},
		// One hop: a container in a bridge on the instance cannot get the credentials of the instance.
		{key: "metadata_options", value: body{{key: "http_tokens", value: "required"},
			{key: "http_put_response_hop_limit", value: 1}}},
		{"block_device_mappings", body{{key: "device_name", value: "/dev/xvda"}, {key: "ebs", value: body{
			{key: "encrypted", value: true}, {key: "volume_type", value: "gp3"}}}}, "The root volume of Amazon Linux."},
		{key: "tag_specifications", value: body{{key: "resource_type", value: "volume"},
			{key: "tags", value: object{{key: "muster:fleet", value: w.Fleet}}}}}})
	// The provider waits by default until the group has its size. Its least size may be zero, so it has nothing to
	// wait for.
	b := body{
		{key: "name", value: g.Name},
		{"min_size", g.Min, "Muster or target tracking sets the desired size. It is not stated here."},
		{key: "max_size", value: g.Max},
		{key: "vpc_zone_identifier", value: stack.Value("SubnetIds")},
		{key: "default_instance_warmup", value: g.Warmup},
		{key: "protect_from_scale_in", value: true},
		{"suspended_processes", list{"AZRebalance"}, "Rebalancing of zones ends busy instances."},
		{key: "enabled_metrics", value: list{"GroupDesiredCapacity", "GroupInServiceInstances",
			"GroupPendingInstances", "GroupTotalInstances"}},
	}
	// Without a policy of its own the group uses that of AWS, which knows nothing of idle workers. Every instance is
	// protected, so that it ends none.
	if g.Terminated {
		b = append(b, entry{key: "termination_policies",
			value: list{expression(`aws_lambda_function.function["terminate"].arn`)}})
	}
	b = append(b, entry{key: "mixed_instances_policy", value: mixed()}, entry{key: "tag", value: tag("muster:fleet",
		w.Fleet)})
	// ECS refuses managed scaling of a group without its tag, also on the instances.
	if g.Hosts {
		b = append(b, entry{key: "tag", value: tag("AmazonECSManaged", "true")})
	}
	if p := g.Pool; p != nil {
		b = append(b, entry{"warm_pool", body{{key: "min_size", value: p.Size},
			{key: "max_group_prepared_capacity", value: p.Size}, {key: "pool_state", value: p.State},
			{key: "instance_reuse_policy", value: body{{key: "reuse_on_scale_in", value: p.Reuse}}}},
			"The pool has this size also while the group is small."})
	}
	b = append(b, entry{key: "lifecycle", value: body{{key: "ignore_changes",
		value: list{expression("desired_capacity")}}}})
	if g.Terminated {
		// The function has to be callable before the group asks it.
		b = append(b, entry{key: "depends_on", value: list{expression("aws_lambda_permission.terminate")}})
	}
	w.resource("aws_autoscaling_group", "group", "", b)
}

// mixed returns the policy of mixed instances: types by what they have, and On-Demand by its share.
func mixed() body {
	return body{
		{key: "launch_template", value: body{
			{key: "launch_template_specification", value: body{
				{key: "launch_template_id", value: expression("aws_launch_template.group.id")},
				{key: "version", value: expression("aws_launch_template.group.latest_version")}}},
			// Requirements instead of types: new types that fit are used, and many pools make interruptions rare.
			{key: "override", value: body{{key: "instance_requirements", value: body{
				{key: "vcpu_count", value: body{{key: "min", value: stack.Value("MinVCpus")},
					{key: "max", value: stack.Value("MaxVCpus")}}},
				{key: "memory_mib", value: body{{key: "min", value: stack.Value("MinMemory")}}}}}}}}},
		{key: "instances_distribution", value: body{
			// The default of AWS is 100: a group that does not state the share never has a Spot instance.
			{key: "on_demand_percentage_above_base_capacity", value: stack.Value("OnDemandShare")},
			{key: "spot_allocation_strategy", value: "capacity-optimized"}}},
	}
}

// tag returns a tag of a group and its instances.
func tag(key, value string) body {
	return body{{key: "key", value: key}, {key: "value", value: value}, {key: "propagate_at_launch", value: true}}
}

// cluster adds the cluster, its capacity, the task definition, and the service if there is one.
func (w *writer) cluster() {
	c := w.Cluster
	if c == nil {
		return
	}
	insights := map[bool]string{true: "enabled", false: "disabled"}[c.Insights]
	w.resource("aws_ecs_cluster", "cluster", "", body{{key: "name", value: c.Name},
		{key: "setting", value: body{{key: "name", value: "containerInsights"}, {key: "value", value: insights}}}})
	// The capacity is all on Fargate or all on the group: Muster counts on one boot time and one price.
	providers := texts(c.Fargate)
	if c.Provider != "" {
		providers = list{expression("aws_ecs_capacity_provider.group.name")}
		w.resource("aws_ecs_capacity_provider", "group", "Managed scaling lets tasks without room wait instead of "+
			"failing.\nMuster sizes the group first, and ends only empty instances.", body{
			{key: "name", value: c.Provider},
			{key: "auto_scaling_group_provider", value: body{
				{key: "auto_scaling_group_arn", value: expression("aws_autoscaling_group.group.arn")},
				{key: "managed_termination_protection", value: "DISABLED"},
				{key: "managed_draining", value: "DISABLED"},
				{key: "managed_scaling", value: body{{key: "status", value: "ENABLED"},
					{key: "target_capacity", value: 100}}}}}})
	}
	// A provider can be used only while it is associated, so the service depends on the association.
	strategy := body{{key: "capacity_provider", value: providers[0]}, {key: "weight", value: 1}}
	w.resource("aws_ecs_cluster_capacity_providers", "cluster", "", body{
		{key: "cluster_name", value: expression("aws_ecs_cluster.cluster.name")},
		{key: "capacity_providers", value: providers},
		{key: "default_capacity_provider_strategy", value: strategy}})
	w.role("task", c.TaskRole)
	w.role("execution", c.ExecutionRole)
	w.resource("aws_cloudwatch_log_group", "tasks", "", body{{key: "name", value: c.Logs},
		{key: "retention_in_days", value: stack.LogDays}})
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
	var environment list
	for i := 0; i+1 < len(c.Environment); i += 2 {
		environment = append(environment, object{{key: "name", value: c.Environment[i]},
			{key: "value", value: c.Environment[i+1]}})
	}
	container := object{
		{key: "name", value: "worker"}, {key: "essential", value: true},
		{key: "image", value: stack.Join(stack.Say(w.Account+".dkr.ecr."+w.Region+"."+w.Suffix()+"/"),
			stack.Value("ImageRepository"), stack.Say(":"), stack.Value("ImageTag"))},
		{key: "entryPoint", value: texts(c.Entry)},
		{key: "command", value: stack.Value("WorkCommand")},
		{key: "environment", value: environment},
	}
	if c.Token {
		container = append(container, entry{key: "secrets", value: list{object{{key: "name", value: "MUSTER_TOKEN"},
			{key: "valueFrom", value: stack.Join(stack.Say("arn:"+w.Partition()+":ssm:"+w.Region+":"+w.Account+
				":parameter/"), stack.Value("TokenParameter"))}}}})
	}
	container = append(container, entry{"stopTimeout", 120, "The most that Fargate allows."},
		entry{key: "logConfiguration", value: object{{key: "logDriver", value: "awslogs"},
			{key: "options", value: object{
				{key: "awslogs-group", value: expression("aws_cloudwatch_log_group.tasks.name")},
				{key: "awslogs-region", value: w.Region}, {key: "awslogs-stream-prefix", value: "worker"}}}}})
	// The mode awsvpc gives each task its own address and security groups, on Fargate and on instances alike.
	w.resource("aws_ecs_task_definition", "worker", "", body{
		{key: "family", value: c.Family}, {key: "network_mode", value: "awsvpc"},
		{key: "requires_compatibilities", value: list{needs}},
		{key: "cpu", value: stack.Value("TaskCpu")}, {key: "memory", value: stack.Value("TaskMemory")},
		{key: "task_role_arn", value: expression("aws_iam_role.task.arn")},
		{key: "execution_role_arn", value: expression("aws_iam_role.execution.arn")},
		{key: "container_definitions", value: document{list{container}}}})
}

// service adds the service.
func (w *writer) service(c *stack.Cluster, strategy body) {
	b := body{
		{key: "name", value: c.Service}, {key: "cluster", value: expression("aws_ecs_cluster.cluster.id")},
		{key: "task_definition", value: expression("aws_ecs_task_definition.worker.arn")},
		{"availability_zone_rebalancing", "DISABLED", "Rebalancing stops busy tasks."},
		{key: "deployment_minimum_healthy_percent", value: 100}, {key: "deployment_maximum_percent", value: 200},
		{key: "propagate_tags", value: "SERVICE"},
		{key: "deployment_circuit_breaker", value: body{{key: "enable", value: true}, {key: "rollback", value: true}}},
		{key: "capacity_provider_strategy", value: strategy},
	}
	if c.Provider != "" {
		b = append(b, entry{"ordered_placement_strategy", body{{key: "type", value: "binpack"},
			{key: "field", value: "memory"}}, "Tasks share instances, so that instances become empty and can end."})
	}
	// The provider sets a count that is not stated to zero when it makes the service, and leaves it alone later.
	w.resource("aws_ecs_service", "service", "", append(b,
		entry{key: "network_configuration", value: body{{key: "subnets", value: stack.Value("SubnetIds")},
			{key: "security_groups", value: stack.Value("SecurityGroupIds")}}},
		entry{key: "lifecycle", value: body{{"ignore_changes", list{expression("desired_count")},
			"Muster or target tracking sets the desired count."}}},
		entry{key: "depends_on", value: list{expression("aws_ecs_cluster_capacity_providers.cluster")}}))
}
