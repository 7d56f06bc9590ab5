# The fleet images in eu-west-1 of the account 123456789012.
# AWS sizes it by target tracking. The functions keep metric and target.
# The size has only its limits here, so a new deployment does not set it back.
terraform {
  required_providers { aws = { source = "hashicorp/aws", version = ">= 5.80" } }
}

provider "aws" {
  region              = "eu-west-1"
  allowed_account_ids = ["123456789012"]
  default_tags { tags = { "muster:fleet" = "images" } }
}

variable "subnet_ids" {
  type        = list(string)
  description = "The subnets of the fleet, in several zones"
}

variable "security_group_ids" {
  type        = list(string)
  description = "Security groups that let HTTPS out and nothing in"
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
  description = "An image of Amazon Linux 2023; instance types follow its architecture"
}

variable "artefact_bucket" {
  type        = string
  description = "The S3 bucket with the programs of a release of Muster"
}

variable "package_key" {
  type        = string
  description = "The key of Muster's rpm for that architecture in that bucket"
}

variable "work_command" {
  type        = string
  description = "The program for a message and its arguments, as in ExecStart= of systemd"
}

variable "function_key" {
  type        = string
  description = "The key, in that bucket, of muster-lambda's zip for arm64 with your configuration in it as muster.yaml"
}

resource "aws_sqs_queue" "dead_letters" {
  name                      = "images-dead"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue" "queue" {
  name                       = "images"
  visibility_timeout_seconds = 30
  message_retention_seconds  = 345600
  receive_wait_time_seconds  = 20
  sqs_managed_sse_enabled    = true
  # Interruptions of workers count as well, so this is more than the attempts that may fail.
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead_letters.arn, maxReceiveCount = 10 })
}

# The workers write their reports here.
resource "aws_dynamodb_table" "reports" {
  name         = "images-reports"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "fleet"
  range_key    = "worker"
  attribute {
    name = "fleet"
    type = "S"
  }
  attribute {
    name = "worker"
    type = "S"
  }
  ttl {
    attribute_name = "expires"
    enabled        = true
  }
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
      { Effect = "Allow", Action = "autoscaling:DescribeAutoScalingInstances", Resource = "*" },
      {
        Effect   = "Allow"
        Action   = "autoscaling:SetInstanceProtection"
        Resource = "arn:aws:autoscaling:eu-west-1:123456789012:autoScalingGroup:*:autoScalingGroupName/images"
      },
      # IAM cannot restrict these actions to resources. The condition does.
      {
        Effect    = "Allow"
        Action    = "cloudwatch:PutMetricData"
        Resource  = "*"
        Condition = { StringEquals = { "cloudwatch:namespace" = "Muster" } }
      },
      { Effect = "Allow", Action = "dynamodb:PutItem", Resource = aws_dynamodb_table.reports.arn },
      {
        Effect   = "Allow"
        Action   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"]
        Resource = aws_sqs_queue.queue.arn
      },
      {
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = "arn:aws:s3:::${var.artefact_bucket}/${var.package_key}"
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
set -euo pipefail
aws s3 cp --only-show-errors 's3://${var.artefact_bucket}/${var.package_key}' /tmp/muster.rpm
dnf install -y --quiet /tmp/muster.rpm
install -d -m 700 /etc/muster
cat >/etc/systemd/system/muster-worker.service <<'END'
[Unit]
Description=Worker of the fleet images
Wants=network-online.target
After=network-online.target

[Service]
User=muster
StateDirectory=muster
WorkingDirectory=/var/lib/muster
Environment=AWS_REGION=eu-west-1
EnvironmentFile=-/etc/muster/worker.env
ExecStart=/usr/bin/muster work --queue https://sqs.eu-west-1.amazonaws.com/123456789012/images \
  --fleet images \
  --member auto \
  --slots 1 \
  --visibility 30s \
  --report cloudwatch \
  --report dynamodb:images-reports \
  --protection instance \
  -- ${var.work_command}
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
    tags          = { "muster:fleet" = "images" }
  }
}

resource "aws_autoscaling_group" "group" {
  name = "images"
  # Muster or target tracking sets the desired size. It is not stated here.
  min_size                = 0
  max_size                = 20
  vpc_zone_identifier     = var.subnet_ids
  default_instance_warmup = 90
  protect_from_scale_in   = true
  # Rebalancing of zones ends busy instances.
  suspended_processes  = ["AZRebalance"]
  enabled_metrics      = ["GroupDesiredCapacity", "GroupInServiceInstances", "GroupPendingInstances", "GroupTotalInstances"]
  termination_policies = [aws_lambda_function.function["terminate"].arn]
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
    value               = "images"
    propagate_at_launch = true
  }
  lifecycle { ignore_changes = [desired_capacity] }
  depends_on = [aws_lambda_permission.terminate]
}

resource "aws_autoscaling_policy" "tracking" {
  name                   = "muster-images"
  autoscaling_group_name = aws_autoscaling_group.group.name
  policy_type            = "TargetTrackingScaling"
  target_tracking_configuration {
    target_value = 12
    customized_metric_specification {
      namespace   = "Muster"
      metric_name = "BacklogPerWorker"
      statistic   = "Average"
      period      = 60
      metric_dimension {
        name  = "Fleet"
        value = "images"
      }
    }
  }
  lifecycle { ignore_changes = [target_tracking_configuration[0].target_value] }
}

locals {
  # The functions by the value of MUSTER_FUNCTION.
  functions = {
    # Publishes the metric that the scaling policy tracks.
    publish-metric = {
      timeout     = 30
      environment = { MUSTER_FLEETS = "images" }
      rate        = "rate(1 minute)"
      may = [
        # IAM cannot restrict these actions to resources.
        {
          Effect = "Allow"
          Action = [
            "autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeInstanceRefreshes",
            "autoscaling:DescribeWarmPool", "cloudwatch:GetMetricData",
          ]
          Resource = "*"
        },
        # IAM cannot restrict these actions to resources. The condition does.
        {
          Effect    = "Allow"
          Action    = "cloudwatch:PutMetricData"
          Resource  = "*"
          Condition = { StringEquals = { "cloudwatch:namespace" = "Muster" } }
        },
        { Effect = "Allow", Action = "dynamodb:Query", Resource = aws_dynamodb_table.reports.arn },
        { Effect = "Allow", Action = "sqs:GetQueueAttributes", Resource = aws_sqs_queue.queue.arn },
      ]
    }
    # Moves the target with the mean processing duration.
    set-target = {
      timeout     = 30
      environment = { MUSTER_FLEETS = "images" }
      rate        = "rate(5 minutes)"
      may = [
        # IAM cannot restrict these actions to resources.
        {
          Effect = "Allow"
          Action = [
            "autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeInstanceRefreshes",
            "autoscaling:DescribePolicies", "autoscaling:DescribeWarmPool", "cloudwatch:GetMetricData",
          ]
          Resource = "*"
        },
        {
          Effect   = "Allow"
          Action   = "autoscaling:PutScalingPolicy"
          Resource = "arn:aws:autoscaling:eu-west-1:123456789012:autoScalingGroup:*:autoScalingGroupName/images"
        },
        { Effect = "Allow", Action = "dynamodb:Query", Resource = aws_dynamodb_table.reports.arn },
        { Effect = "Allow", Action = "sqs:GetQueueAttributes", Resource = aws_sqs_queue.queue.arn },
      ]
    }
    # Chooses idle instances when the group scales in; none when in doubt.
    terminate = {
      timeout     = 2
      environment = { MUSTER_PROTECTED = "instance", MUSTER_FLEETS = "images" }
      may         = [{ Effect = "Allow", Action = "dynamodb:Query", Resource = aws_dynamodb_table.reports.arn }]
    }
    # Sends test messages. Nothing calls it but you.
    send = {
      timeout     = 60
      environment = { MUSTER_QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/images" }
      may         = [{ Effect = "Allow", Action = "sqs:SendMessage", Resource = aws_sqs_queue.queue.arn }]
    }
  }
}

resource "aws_cloudwatch_log_group" "functions" {
  name              = "/muster/images/functions"
  retention_in_days = 30
}

resource "aws_iam_role" "function" {
  for_each = local.functions
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "lambda.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy" "function" {
  for_each = local.functions
  role     = aws_iam_role.function[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      each.value.may,
      [
        {
          Effect   = "Allow"
          Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
          Resource = "${aws_cloudwatch_log_group.functions.arn}:*"
        },
      ]
    )
  })
}

resource "aws_lambda_function" "function" {
  for_each      = local.functions
  function_name = "images-${each.key}"
  role          = aws_iam_role.function[each.key].arn
  runtime       = "provided.al2023"
  handler       = "bootstrap"
  architectures = ["arm64"]
  timeout       = each.value.timeout
  s3_bucket     = var.artefact_bucket
  s3_key        = var.function_key
  environment {
    variables = merge({ MUSTER_FUNCTION = each.key }, each.value.environment)
  }
  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.functions.name
  }
}

resource "aws_lambda_permission" "terminate" {
  function_name = aws_lambda_function.function["terminate"].function_name
  action        = "lambda:InvokeFunction"
  principal     = "arn:aws:iam::123456789012:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
}

resource "aws_cloudwatch_event_rule" "function" {
  for_each            = { for name, f in local.functions : name => f.rate if can(f.rate) }
  schedule_expression = each.value
}

resource "aws_cloudwatch_event_target" "function" {
  for_each = aws_cloudwatch_event_rule.function
  rule     = each.value.name
  arn      = aws_lambda_function.function[each.key].arn
}

resource "aws_lambda_permission" "schedule" {
  for_each      = aws_cloudwatch_event_rule.function
  function_name = aws_lambda_function.function[each.key].function_name
  action        = "lambda:InvokeFunction"
  principal     = "events.amazonaws.com"
  source_arn    = each.value.arn
}

resource "aws_cloudwatch_dashboard" "dashboard" {
  dashboard_name = "muster-images"
  dashboard_body = <<-EOT
{"widgets": [
{"type":"text","x":0,"y":0,"width":24,"height":1,"properties":{"markdown":"## images"}},
{"type":"metric","x":0,"y":1,"width":12,"height":6,"properties":{"title":"Messages","region":"eu-west-1","view":"timeSeries","period":60,"metrics":[["AWS/SQS","ApproximateNumberOfMessagesVisible","QueueName","images",{"label":"images visible","stat":"Maximum"}],["AWS/SQS","ApproximateNumberOfMessagesNotVisible","QueueName","images",{"label":"images in flight","stat":"Maximum"}]]}},
{"type":"metric","x":12,"y":1,"width":12,"height":6,"properties":{"title":"Workers","region":"eu-west-1","view":"timeSeries","period":60,"metrics":[["Muster","WorkersInService","Fleet","images",{"label":"in service","stat":"Average"}],["AWS/AutoScaling","GroupDesiredCapacity","AutoScalingGroupName","images",{"label":"desired","stat":"Average"}]],"annotations":{"horizontal":[{"label":"largest allowed","value":20}]}}},
{"type":"metric","x":0,"y":7,"width":12,"height":6,"properties":{"title":"Mean processing duration (s)","region":"eu-west-1","view":"timeSeries","period":60,"metrics":[["Muster","MeanProcessingDuration","Fleet","images",{"label":"mean","stat":"Average"}]]}},
{"type":"metric","x":12,"y":7,"width":12,"height":6,"properties":{"title":"Backlog per worker","region":"eu-west-1","view":"timeSeries","period":60,"metrics":[["Muster","BacklogPerWorker","Fleet","images",{"label":"backlog per worker","stat":"Average"}],["Muster","AcceptableBacklogPerWorker","Fleet","images",{"label":"acceptable","stat":"Average"}]]}},
{"type":"metric","x":0,"y":13,"width":12,"height":6,"properties":{"title":"Oldest message (s)","region":"eu-west-1","view":"timeSeries","period":60,"metrics":[["AWS/SQS","ApproximateAgeOfOldestMessage","QueueName","images",{"label":"images","stat":"Maximum"}]],"annotations":{"horizontal":[{"label":"objective","value":300}]}}},
{"type":"metric","x":12,"y":13,"width":12,"height":6,"properties":{"title":"Share in time and late, last hour","region":"eu-west-1","view":"timeSeries","period":60,"metrics":[[{"expression":"1 - intime","id":"late","label":"late"}],["Muster","InTimeRatio","Fleet","images",{"id":"intime","label":"in time","stat":"Average"}]],"annotations":{"horizontal":[{"label":"objective","value":0.99}]}}}
]}
EOT
}
