# The fleet slides in eu-west-1 of the account 123456789012.
# muster up sizes it, on a machine or as a service: see docs/deploy.md.
# The size has only its limits here, so a new deployment does not set it back.
terraform {
  required_providers { aws = { source = "hashicorp/aws", version = ">= 5.80" } }
}

provider "aws" {
  region              = "eu-west-1"
  allowed_account_ids = ["123456789012"]
  default_tags { tags = { "muster:fleet" = "slides" } }
}

variable "subnet_ids" {
  type        = list(string)
  description = "The subnets of the fleet, in several zones"
}

variable "security_group_ids" {
  type        = list(string)
  description = "Security groups that let HTTPS out and nothing in"
}

variable "image_repository" {
  type        = string
  description = "The name of the repository of ECR, in this account and region, with an image that has /usr/bin/muster and your program"
}

variable "image_tag" {
  type        = string
  description = "The tag of that image"
}

variable "work_command" {
  type        = list(string)
  description = "The program for a message and its arguments, in the image"
}

variable "task_cpu" {
  type        = number
  description = "The CPU of a task in units; 1024 are a vCPU"
  validation {
    condition     = var.task_cpu >= 128 && var.task_cpu <= 16384
    error_message = "Allowed are 128 to 16384."
  }
}

variable "task_memory" {
  type        = number
  description = "The memory of a task in MiB"
  validation {
    condition     = var.task_memory >= 128 && var.task_memory <= 122880
    error_message = "Allowed are 128 to 122880."
  }
}

variable "token_parameter" {
  type        = string
  description = "The name, without the leading slash, of the secret parameter of Systems Manager with the fleet's token: the text of DATA/fleet-tokens/slides"
}

variable "min_vcpus" {
  type        = number
  description = "The fewest vCPUs of an instance type"
  validation {
    condition     = var.min_vcpus >= 1 && var.min_vcpus <= 448
    error_message = "Allowed are 1 to 448."
  }
}

variable "max_vcpus" {
  type        = number
  description = "The most vCPUs of an instance type"
  validation {
    condition     = var.max_vcpus >= 1 && var.max_vcpus <= 448
    error_message = "Allowed are 1 to 448."
  }
}

variable "min_memory" {
  type        = number
  description = "The least memory of an instance type in MiB"
  validation {
    condition     = var.min_memory >= 512 && var.min_memory <= 25165824
    error_message = "Allowed are 512 to 25165824."
  }
}

variable "on_demand_share" {
  type        = number
  description = "Instances in 100 that are On-Demand; the others are Spot"
  validation {
    condition     = var.on_demand_share >= 0 && var.on_demand_share <= 100
    error_message = "Allowed are 0 to 100."
  }
}

variable "image_id" {
  type        = string
  description = "An image of Amazon Linux 2023 that is optimized for ECS"
}

resource "aws_sqs_queue" "dead_letters" {
  name                      = "slides-dead.fifo"
  fifo_queue                = true
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue" "queue" {
  name                       = "slides.fifo"
  fifo_queue                 = true
  visibility_timeout_seconds = 30
  message_retention_seconds  = 345600
  receive_wait_time_seconds  = 20
  sqs_managed_sse_enabled    = true
  # Interruptions of workers count as well, so this is more than the attempts that may fail.
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead_letters.arn, maxReceiveCount = 10 })
}

resource "aws_iam_role" "instance" {
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "ec2.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy" "instance" {
  role = aws_iam_role.instance.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      # IAM cannot restrict these actions to resources.
      { Effect = "Allow", Action = "ecs:DiscoverPollEndpoint", Resource = "*" },
      {
        Effect = "Allow"
        Action = [
          "ecs:DeregisterContainerInstance", "ecs:RegisterContainerInstance",
          "ecs:SubmitAttachmentStateChanges", "ecs:SubmitContainerStateChange",
          "ecs:SubmitTaskStateChange",
        ]
        Resource = "arn:aws:ecs:eu-west-1:123456789012:cluster/slides"
      },
      {
        Effect   = "Allow"
        Action   = ["ecs:Poll", "ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState"]
        Resource = "arn:aws:ecs:eu-west-1:123456789012:container-instance/slides/*"
      },
    ]
  })
}

resource "aws_iam_instance_profile" "instance" { role = aws_iam_role.instance.name }

resource "aws_launch_template" "group" {
  image_id               = var.image_id
  vpc_security_group_ids = var.security_group_ids
  user_data = base64encode(<<-EOT
#!/bin/bash
cat >>/etc/ecs/ecs.config <<'END'
ECS_CLUSTER=slides
ECS_ENABLE_AWSLOGS_EXECUTIONROLE_OVERRIDE=true
ECS_ENABLE_SPOT_INSTANCE_DRAINING=true
ECS_WARM_POOLS_CHECK=true
ECS_AWSVPC_BLOCK_IMDS=true
END
EOT
  )
  iam_instance_profile { arn = aws_iam_instance_profile.instance.arn }
  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
  # The root volume of Amazon Linux.
  block_device_mappings {
    device_name = "/dev/xvda"
    ebs {
      encrypted   = true
      volume_type = "gp3"
    }
  }
  tag_specifications {
    resource_type = "volume"
    tags          = { "muster:fleet" = "slides" }
  }
}

resource "aws_autoscaling_group" "group" {
  name = "slides-hosts"
  # Muster or target tracking sets the desired size. It is not stated here.
  min_size                = 0
  max_size                = 10
  vpc_zone_identifier     = var.subnet_ids
  default_instance_warmup = 60
  protect_from_scale_in   = true
  # Rebalancing of zones ends busy instances.
  suspended_processes = ["AZRebalance"]
  enabled_metrics     = ["GroupDesiredCapacity", "GroupInServiceInstances", "GroupPendingInstances", "GroupTotalInstances"]
  mixed_instances_policy {
    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.group.id
        version            = aws_launch_template.group.latest_version
      }
      override {
        instance_requirements {
          vcpu_count {
            min = var.min_vcpus
            max = var.max_vcpus
          }
          memory_mib { min = var.min_memory }
        }
      }
    }
    instances_distribution {
      on_demand_percentage_above_base_capacity = var.on_demand_share
      spot_allocation_strategy                 = "capacity-optimized"
    }
  }
  tag {
    key                 = "muster:fleet"
    value               = "slides"
    propagate_at_launch = true
  }
  tag {
    key                 = "AmazonECSManaged"
    value               = "true"
    propagate_at_launch = true
  }
  lifecycle { ignore_changes = [desired_capacity] }
}

resource "aws_ecs_cluster" "cluster" {
  name = "slides"
  setting {
    name  = "containerInsights"
    value = "disabled"
  }
}

# Managed scaling lets tasks without room wait instead of failing.
# Muster sizes the group first, and ends only empty instances.
resource "aws_ecs_capacity_provider" "group" {
  name = "slides-hosts"
  auto_scaling_group_provider {
    auto_scaling_group_arn         = aws_autoscaling_group.group.arn
    managed_termination_protection = "DISABLED"
    managed_draining               = "DISABLED"
    managed_scaling {
      status          = "ENABLED"
      target_capacity = 100
    }
  }
}

resource "aws_ecs_cluster_capacity_providers" "cluster" {
  cluster_name       = aws_ecs_cluster.cluster.name
  capacity_providers = [aws_ecs_capacity_provider.group.name]
  default_capacity_provider_strategy {
    capacity_provider = aws_ecs_capacity_provider.group.name
    weight            = 1
  }
}

resource "aws_iam_role" "task" {
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Principal = { Service = "ecs-tasks.amazonaws.com" }
        Action    = "sts:AssumeRole"
        Condition = { StringEquals = { "aws:SourceAccount" = "123456789012" } }
      },
    ]
  })
}

resource "aws_iam_role_policy" "task" {
  role = aws_iam_role.task.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect   = "Allow"
        Action   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"]
        Resource = aws_sqs_queue.queue.arn
      },
      {
        Effect   = "Allow"
        Action   = "ecs:UpdateTaskProtection"
        Resource = "arn:aws:ecs:eu-west-1:123456789012:task/slides/*"
      },
    ]
  })
}

resource "aws_iam_role" "execution" {
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Principal = { Service = "ecs-tasks.amazonaws.com" }
        Action    = "sts:AssumeRole"
        Condition = { StringEquals = { "aws:SourceAccount" = "123456789012" } }
      },
    ]
  })
}

resource "aws_iam_role_policy" "execution" {
  role = aws_iam_role.execution.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      # IAM cannot restrict these actions to resources.
      { Effect = "Allow", Action = "ecr:GetAuthorizationToken", Resource = "*" },
      {
        Effect   = "Allow"
        Action   = ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
        Resource = "arn:aws:ecr:eu-west-1:123456789012:repository/${var.image_repository}"
      },
      {
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "${aws_cloudwatch_log_group.tasks.arn}:*"
      },
      {
        Effect   = "Allow"
        Action   = "ssm:GetParameters"
        Resource = "arn:aws:ssm:eu-west-1:123456789012:parameter/${var.token_parameter}"
      },
    ]
  })
}

resource "aws_cloudwatch_log_group" "tasks" {
  name              = "/muster/slides"
  retention_in_days = 30
}

resource "aws_ecs_task_definition" "worker" {
  family                   = "slides"
  network_mode             = "awsvpc"
  requires_compatibilities = ["EC2"]
  cpu                      = var.task_cpu
  memory                   = var.task_memory
  task_role_arn            = aws_iam_role.task.arn
  execution_role_arn       = aws_iam_role.execution.arn
  container_definitions = jsonencode([
    {
      name      = "worker"
      essential = true
      image     = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/${var.image_repository}:${var.image_tag}"
      entryPoint = [
        "/usr/bin/muster", "work", "--queue",
        "https://sqs.eu-west-1.amazonaws.com/123456789012/slides.fifo", "--fleet", "slides", "--member",
        "auto", "--slots", "1", "--visibility", "30s", "--idle", "30s", "--",
      ]
      command = var.work_command
      environment = [
        { name = "MUSTER_API_URL", value = "https://muster.example.com:9335" },
        { name = "AWS_REGION", value = "eu-west-1" },
      ]
      secrets = [{ name = "MUSTER_TOKEN", valueFrom = "arn:aws:ssm:eu-west-1:123456789012:parameter/${var.token_parameter}" }]
      # The most that Fargate allows.
      stopTimeout = 120
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          awslogs-group         = aws_cloudwatch_log_group.tasks.name
          awslogs-region        = "eu-west-1"
          awslogs-stream-prefix = "worker"
        }
      }
    },
  ])
}

resource "aws_ecs_service" "service" {
  name            = "slides"
  cluster         = aws_ecs_cluster.cluster.id
  task_definition = aws_ecs_task_definition.worker.arn
  # Rebalancing stops busy tasks.
  availability_zone_rebalancing      = "DISABLED"
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  propagate_tags                     = "SERVICE"
  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }
  capacity_provider_strategy {
    capacity_provider = aws_ecs_capacity_provider.group.name
    weight            = 1
  }
  # Tasks share instances, so that instances become empty and can end.
  ordered_placement_strategy {
    type  = "binpack"
    field = "memory"
  }
  network_configuration {
    subnets         = var.subnet_ids
    security_groups = var.security_group_ids
  }
  lifecycle {
    # Muster or target tracking sets the desired count.
    ignore_changes = [desired_count]
  }
  depends_on = [aws_ecs_cluster_capacity_providers.cluster]
}

resource "aws_sqs_queue" "events_dead_letters" {
  name                      = "slides-events-dead"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue" "events" {
  name                       = "slides-events"
  visibility_timeout_seconds = 30
  message_retention_seconds  = 345600
  receive_wait_time_seconds  = 20
  sqs_managed_sse_enabled    = true
  # Interruptions of workers count as well, so this is more than the attempts that may fail.
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.events_dead_letters.arn, maxReceiveCount = 10 })
}

locals {
  # The patterns of the events that go to the queue.
  rules = {
    # Your programs ask for capacity, by PutEvents with the source muster.
    program_events = { source = ["muster"], detail = { fleet = ["slides"] } }
    # Tasks and deployments of the cluster change.
    cluster_events = {
      source      = ["aws.ecs"]
      detail-type = ["ECS Task State Change", "ECS Service Action", "ECS Deployment State Change"]
      detail      = { clusterArn = ["arn:aws:ecs:eu-west-1:123456789012:cluster/slides"] }
    }
    # Instances of the group are launched and end.
    group_events = {
      source = ["aws.autoscaling"]
      detail-type = [
        "EC2 Instance Launch Successful", "EC2 Instance Launch Unsuccessful",
        "EC2 Instance Terminate Successful", "EC2 Instance Terminate Unsuccessful",
      ]
      detail = { AutoScalingGroupName = ["slides-hosts"] }
    }
    # Spot instances get a notice. It names no group, so those of all come.
    spot_events = {
      source      = ["aws.ec2"]
      detail-type = ["EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation"]
    }
  }
}

resource "aws_cloudwatch_event_rule" "events" {
  for_each      = local.rules
  event_pattern = jsonencode(each.value)
}

resource "aws_cloudwatch_event_target" "events" {
  for_each = aws_cloudwatch_event_rule.events
  rule     = each.value.name
  arn      = aws_sqs_queue.events.arn
}

resource "aws_sqs_queue_policy" "events" {
  queue_url = aws_sqs_queue.events.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Principal = { Service = "events.amazonaws.com" }
        Action    = "sqs:SendMessage"
        Resource  = aws_sqs_queue.events.arn
        Condition = {
          ArnEquals = {
            "aws:SourceArn" = {
              # Your programs ask for capacity, by PutEvents with the source muster.
              program_events = { source = ["muster"], detail = { fleet = ["slides"] } }
              # Tasks and deployments of the cluster change.
              cluster_events = {
                source      = ["aws.ecs"]
                detail-type = ["ECS Task State Change", "ECS Service Action", "ECS Deployment State Change"]
                detail      = { clusterArn = ["arn:aws:ecs:eu-west-1:123456789012:cluster/slides"] }
              }
              # Instances of the group are launched and end.
              group_events = {
                source = ["aws.autoscaling"]
                detail-type = [
                  "EC2 Instance Launch Successful", "EC2 Instance Launch Unsuccessful",
                  "EC2 Instance Terminate Successful", "EC2 Instance Terminate Unsuccessful",
                ]
                detail = { AutoScalingGroupName = ["slides-hosts"] }
              }
              # Spot instances get a notice. It names no group, so those of all come.
              spot_events = {
                source      = ["aws.ec2"]
                detail-type = ["EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation"]
              }
            }
          }
        }
      },
    ]
  })
}
