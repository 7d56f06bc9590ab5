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
      {
        Sid    = "AutoscalingNoResourceLevel"
        Effect = "Allow"
        Action = ["autoscaling:DescribeAutoScalingInstances"]
        # IAM cannot restrict these actions to resources.
        Resource = ["*"]
      },
      {
        Sid      = "AutoscalingOnAutoScalingGroup"
        Effect   = "Allow"
        Action   = ["autoscaling:SetInstanceProtection"]
        Resource = ["arn:aws:autoscaling:eu-west-1:123456789012:autoScalingGroup:*:autoScalingGroupName/images"]
      },
      {
        Sid    = "CloudwatchInNamespace"
        Effect = "Allow"
        Action = ["cloudwatch:PutMetricData"]
        # IAM cannot restrict these actions to resources. The condition does.
        Resource  = ["*"]
        Condition = { StringEquals = { "cloudwatch:namespace" = ["Muster"] } }
      },
      {
        Sid      = "DynamodbOnTable"
        Effect   = "Allow"
        Action   = ["dynamodb:PutItem"]
        Resource = ["arn:aws:dynamodb:eu-west-1:123456789012:table/images-reports"]
      },
      {
        Sid      = "SqsOnQueue"
        Effect   = "Allow"
        Action   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"]
        Resource = ["arn:aws:sqs:eu-west-1:123456789012:images"]
      },
      {
        Sid      = "S3OnPackage"
        Effect   = "Allow"
        Action   = ["s3:GetObject"]
        Resource = ["arn:aws:s3:::${var.artefact_bucket}/${var.package_key}"]
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
  termination_policies = [aws_lambda_function.terminate.arn]
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
      on_demand_base_capacity                  = 0
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

resource "aws_cloudwatch_log_group" "functions" {
  name              = "/muster/images/functions"
  retention_in_days = 30
}

resource "aws_iam_role" "publish_metric" {
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "lambda.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy" "publish_metric" {
  role = aws_iam_role.publish_metric.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid    = "AutoscalingNoResourceLevel"
        Effect = "Allow"
        Action = [
          "autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeInstanceRefreshes",
          "autoscaling:DescribeWarmPool",
        ]
        # IAM cannot restrict these actions to resources.
        Resource = ["*"]
      },
      {
        Sid    = "CloudwatchNoResourceLevel"
        Effect = "Allow"
        Action = ["cloudwatch:GetMetricData"]
        # IAM cannot restrict these actions to resources.
        Resource = ["*"]
      },
      {
        Sid    = "CloudwatchInNamespace"
        Effect = "Allow"
        Action = ["cloudwatch:PutMetricData"]
        # IAM cannot restrict these actions to resources. The condition does.
        Resource  = ["*"]
        Condition = { StringEquals = { "cloudwatch:namespace" = ["Muster"] } }
      },
      {
        Sid      = "DynamodbOnTable"
        Effect   = "Allow"
        Action   = ["dynamodb:Query"]
        Resource = ["arn:aws:dynamodb:eu-west-1:123456789012:table/images-reports"]
      },
      {
        Sid      = "SqsOnQueue"
        Effect   = "Allow"
        Action   = ["sqs:GetQueueAttributes"]
        Resource = ["arn:aws:sqs:eu-west-1:123456789012:images"]
      },
      {
        Sid      = "LogsOnGroup"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = ["arn:aws:logs:eu-west-1:123456789012:log-group:/muster/images/functions:*"]
      },
    ]
  })
}

# Publishes the metric that the scaling policy tracks.
resource "aws_lambda_function" "publish_metric" {
  function_name = "images-publish-metric"
  role          = aws_iam_role.publish_metric.arn
  runtime       = "provided.al2023"
  handler       = "bootstrap"
  architectures = ["arm64"]
  memory_size   = 128
  timeout       = 30
  s3_bucket     = var.artefact_bucket
  s3_key        = var.function_key
  environment {
    variables = { MUSTER_FUNCTION = "publish-metric", MUSTER_FLEETS = "images" }
  }
  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.functions.name
  }
}

resource "aws_cloudwatch_event_rule" "publish_metric" { schedule_expression = "rate(1 minute)" }

resource "aws_cloudwatch_event_target" "publish_metric" {
  rule = aws_cloudwatch_event_rule.publish_metric.name
  arn  = aws_lambda_function.publish_metric.arn
}

resource "aws_lambda_permission" "publish_metric" {
  function_name = aws_lambda_function.publish_metric.function_name
  action        = "lambda:InvokeFunction"
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.publish_metric.arn
}

resource "aws_iam_role" "set_target" {
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "lambda.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy" "set_target" {
  role = aws_iam_role.set_target.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid    = "AutoscalingNoResourceLevel"
        Effect = "Allow"
        Action = [
          "autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeInstanceRefreshes",
          "autoscaling:DescribePolicies", "autoscaling:DescribeWarmPool",
        ]
        # IAM cannot restrict these actions to resources.
        Resource = ["*"]
      },
      {
        Sid      = "AutoscalingOnAutoScalingGroup"
        Effect   = "Allow"
        Action   = ["autoscaling:PutScalingPolicy"]
        Resource = ["arn:aws:autoscaling:eu-west-1:123456789012:autoScalingGroup:*:autoScalingGroupName/images"]
      },
      {
        Sid    = "CloudwatchNoResourceLevel"
        Effect = "Allow"
        Action = ["cloudwatch:GetMetricData"]
        # IAM cannot restrict these actions to resources.
        Resource = ["*"]
      },
      {
        Sid      = "DynamodbOnTable"
        Effect   = "Allow"
        Action   = ["dynamodb:Query"]
        Resource = ["arn:aws:dynamodb:eu-west-1:123456789012:table/images-reports"]
      },
      {
        Sid      = "SqsOnQueue"
        Effect   = "Allow"
        Action   = ["sqs:GetQueueAttributes"]
        Resource = ["arn:aws:sqs:eu-west-1:123456789012:images"]
      },
      {
        Sid      = "LogsOnGroup"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = ["arn:aws:logs:eu-west-1:123456789012:log-group:/muster/images/functions:*"]
      },
    ]
  })
}

# Moves the target with the mean processing duration.
resource "aws_lambda_function" "set_target" {
  function_name = "images-set-target"
  role          = aws_iam_role.set_target.arn
  runtime       = "provided.al2023"
  handler       = "bootstrap"
  architectures = ["arm64"]
  memory_size   = 128
  timeout       = 30
  s3_bucket     = var.artefact_bucket
  s3_key        = var.function_key
  environment {
    variables = { MUSTER_FUNCTION = "set-target", MUSTER_FLEETS = "images" }
  }
  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.functions.name
  }
}

resource "aws_cloudwatch_event_rule" "set_target" { schedule_expression = "rate(5 minutes)" }

resource "aws_cloudwatch_event_target" "set_target" {
  rule = aws_cloudwatch_event_rule.set_target.name
  arn  = aws_lambda_function.set_target.arn
}

resource "aws_lambda_permission" "set_target" {
  function_name = aws_lambda_function.set_target.function_name
  action        = "lambda:InvokeFunction"
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.set_target.arn
}

resource "aws_iam_role" "terminate" {
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "lambda.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy" "terminate" {
  role = aws_iam_role.terminate.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "DynamodbOnTable"
        Effect   = "Allow"
        Action   = ["dynamodb:Query"]
        Resource = ["arn:aws:dynamodb:eu-west-1:123456789012:table/images-reports"]
      },
      {
        Sid      = "LogsOnGroup"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = ["arn:aws:logs:eu-west-1:123456789012:log-group:/muster/images/functions:*"]
      },
    ]
  })
}

# Chooses idle instances when the group scales in; none when in doubt.
resource "aws_lambda_function" "terminate" {
  function_name = "images-terminate"
  role          = aws_iam_role.terminate.arn
  runtime       = "provided.al2023"
  handler       = "bootstrap"
  architectures = ["arm64"]
  memory_size   = 128
  timeout       = 2
  s3_bucket     = var.artefact_bucket
  s3_key        = var.function_key
  environment {
    variables = { MUSTER_FUNCTION = "terminate", MUSTER_PROTECTED = "instance", MUSTER_FLEETS = "images" }
  }
  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.functions.name
  }
}

resource "aws_lambda_permission" "terminate" {
  function_name = aws_lambda_function.terminate.function_name
  action        = "lambda:InvokeFunction"
  principal     = "arn:aws:iam::123456789012:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
}

resource "aws_iam_role" "send" {
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "lambda.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_role_policy" "send" {
  role = aws_iam_role.send.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "SqsOnQueue"
        Effect   = "Allow"
        Action   = ["sqs:SendMessage"]
        Resource = ["arn:aws:sqs:eu-west-1:123456789012:images"]
      },
      {
        Sid      = "LogsOnGroup"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = ["arn:aws:logs:eu-west-1:123456789012:log-group:/muster/images/functions:*"]
      },
    ]
  })
}

# Sends test messages. Nothing calls it but you.
resource "aws_lambda_function" "send" {
  function_name = "images-send"
  role          = aws_iam_role.send.arn
  runtime       = "provided.al2023"
  handler       = "bootstrap"
  architectures = ["arm64"]
  memory_size   = 128
  timeout       = 60
  s3_bucket     = var.artefact_bucket
  s3_key        = var.function_key
  environment {
    variables = { MUSTER_FUNCTION = "send", MUSTER_QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/images" }
  }
  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.functions.name
  }
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
