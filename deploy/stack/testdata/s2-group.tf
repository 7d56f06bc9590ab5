# The fleet orders in eu-west-1 of the account 123456789012.
# AWS sizes it by target tracking of what the workers publish. Nothing else runs; muster up would publish twice.
# The size has only its limits here, so a new deployment does not set it back.
terraform {
  required_providers { aws = { source = "hashicorp/aws", version = ">= 5.80" } }
}

provider "aws" {
  region              = "eu-west-1"
  allowed_account_ids = ["123456789012"]
  default_tags { tags = { "muster:fleet" = "orders" } }
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

resource "aws_sqs_queue" "dead_letters" {
  name                      = "orders-dead"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue" "queue" {
  name                       = "orders"
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
      { Effect = "Allow", Action = "autoscaling:DescribeAutoScalingInstances", Resource = "*" },
      {
        Effect   = "Allow"
        Action   = "autoscaling:SetInstanceProtection"
        Resource = "arn:aws:autoscaling:eu-west-1:123456789012:autoScalingGroup:*:autoScalingGroupName/orders"
      },
      # IAM cannot restrict these actions to resources. The condition does.
      {
        Effect    = "Allow"
        Action    = "cloudwatch:PutMetricData"
        Resource  = "*"
        Condition = { StringEquals = { "cloudwatch:namespace" = "Muster" } }
      },
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
Description=Worker of the fleet orders
Wants=network-online.target
After=network-online.target

[Service]
User=muster
StateDirectory=muster
WorkingDirectory=/var/lib/muster
Environment=AWS_REGION=eu-west-1
EnvironmentFile=-/etc/muster/worker.env
ExecStart=/usr/bin/muster work --queue https://sqs.eu-west-1.amazonaws.com/123456789012/orders \
  --fleet orders \
  --member auto \
  --slots 10 \
  --visibility 30s \
  --report cloudwatch \
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
    tags          = { "muster:fleet" = "orders" }
  }
}

resource "aws_autoscaling_group" "group" {
  name = "orders"
  # Muster or target tracking sets the desired size. It is not stated here.
  min_size                = 0
  max_size                = 10
  vpc_zone_identifier     = var.subnet_ids
  default_instance_warmup = 90
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
    value               = "orders"
    propagate_at_launch = true
  }
  lifecycle { ignore_changes = [desired_capacity] }
}

resource "aws_autoscaling_policy" "tracking" {
  name                   = "muster-orders"
  autoscaling_group_name = aws_autoscaling_group.group.name
  policy_type            = "TargetTrackingScaling"
  target_tracking_configuration {
    target_value = 0.7
    customized_metric_specification {
      metrics {
        id = "backlog"
        metric_stat {
          stat = "Maximum"
          metric {
            namespace   = "AWS/SQS"
            metric_name = "ApproximateNumberOfMessagesVisible"
            dimensions {
              name  = "QueueName"
              value = "orders"
            }
          }
        }
        return_data = false
      }
      metrics {
        id = "inFlight"
        metric_stat {
          stat = "Maximum"
          metric {
            namespace   = "AWS/SQS"
            metric_name = "ApproximateNumberOfMessagesNotVisible"
            dimensions {
              name  = "QueueName"
              value = "orders"
            }
          }
        }
        return_data = false
      }
      metrics {
        id = "workers"
        metric_stat {
          stat = "Sum"
          metric {
            namespace   = "Muster"
            metric_name = "TotalWorkers"
            dimensions {
              name  = "Fleet"
              value = "orders"
            }
          }
        }
        return_data = false
      }
      metrics {
        id          = "totalWork"
        expression  = "FILL(backlog, REPEAT) + FILL(inFlight, REPEAT)"
        return_data = false
      }
      metrics {
        id          = "utilizationRatio"
        expression  = "totalWork / workers"
        return_data = false
      }
      metrics {
        id          = "utilization"
        expression  = "IF(FILL(workers, 0) > 0, utilizationRatio, IF(totalWork > 0, 1, 0))"
        return_data = true
      }
    }
  }
}
