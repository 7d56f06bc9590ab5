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

resource "aws_ecs_cluster" "cluster" {
  name = "slides"
  setting {
    name  = "containerInsights"
    value = "disabled"
  }
}

resource "aws_ecs_cluster_capacity_providers" "cluster" {
  cluster_name       = aws_ecs_cluster.cluster.name
  capacity_providers = ["FARGATE"]
  default_capacity_provider_strategy {
    capacity_provider = "FARGATE"
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
  requires_compatibilities = ["FARGATE"]
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
    capacity_provider = "FARGATE"
    weight            = 1
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
            }
          }
        }
      },
    ]
  })
}
