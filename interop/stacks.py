"""The templates of muster template stack: cfn-lint accepts them, Terraform does where it is installed, and a simulated
CloudFormation makes what it can of each. A fleet of muster up then works on one of them."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import boto3
import requests
import yaml
from moto.server import ThreadedMotoServer

from checks import equal, say, true, within

failed = 0
root = pathlib.Path(__file__).resolve().parent.parent
examples = root / "deploy" / "stack" / "testdata"
muster = root / "bin" / "muster"
names = sorted(p.name.removesuffix(".yaml") for p in examples.glob("*.yaml") if not p.name.endswith(".template.yaml"))

# What the simulated CloudFormation does not know, and leaves out.
unknown = {
    "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::AutoScaling::ScalingPolicy",
    "AWS::AutoScaling::WarmPool", "AWS::ECS::CapacityProvider", "AWS::ECS::ClusterCapacityProviderAssociations", "AWS::SQS::QueuePolicy",
    "AWS::Scheduler::Schedule",
}


def check(rule, function):
    """Tries a rule and prints its line."""
    global failed
    try:
        function()
        say("templates", rule)
    except Exception as error:  # whatever keeps the rule from holding
        failed += 1
        say("templates", rule, error)


def template(config, language="cloudformation"):
    return subprocess.run([muster, "template", "stack", "--" + language, "-f", config], check=True, capture_output=True, text=True, timeout=60).stdout


class Functions(yaml.SafeLoader):
    """Reads a template with the short forms of functions as texts."""


Functions.add_multi_constructor("!", lambda loader, suffix, node: node.value)


def lint(work):
    paths = [pathlib.Path(work) / f"{name}.yaml" for name in names]
    for name, path in zip(names, paths):
        path.write_text(template(examples / f"{name}.yaml"))
    run = lambda files: subprocess.run(
        [sys.executable, "-c", "import sys; from cfnlint.runner import main; sys.exit(main())", "--region", "eu-west-1", "--", *files],
        capture_output=True, text=True, timeout=200,
    )
    said = run(paths)
    check(f"cfn-lint finds nothing in {', '.join(names)}", lambda: equal((said.returncode, said.stdout.strip()), (0, "")))
    broken = pathlib.Path(work) / "broken.yaml"
    broken.write_text(paths[0].read_text().replace("MinSize:", "LeastSize:"))
    check("cfn-lint finds a property that does not exist", lambda: true("LeastSize" in run([broken]).stdout, "it was not found"))


def terraform(work):
    """Validates the modules with Terraform and the AWS provider below MUSTER_TERRAFORM_PLUGINS, if both are installed."""
    plugins = os.environ.get("MUSTER_TERRAFORM_PLUGINS", "/opt/tf-plugins")
    if not shutil.which("terraform") or not os.path.isdir(plugins):
        print("skip terraform: there is no command terraform, or no directory", plugins, "with the AWS provider; MUSTER_TERRAFORM_PLUGINS names one")
        return
    for name in names:
        module = pathlib.Path(work) / "terraform" / name
        module.mkdir(parents=True)
        (module / "main.tf").write_text(template(examples / f"{name}.yaml", "terraform"))
        run = lambda *words: subprocess.run(["terraform", f"-chdir={module}", *words, "-no-color"], capture_output=True, text=True, timeout=120)
        made = run("init", "-backend=false", f"-plugin-dir={plugins}")
        check(f"terraform accepts {name}", lambda: equal((made.returncode, *(run(*w).returncode for w in (["validate"], ["fmt", "-check"]))), (0, 0, 0)))


class Cloud:
    """A simulated account with a network and an empty bucket of artefacts."""

    def __init__(self):
        self.server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self.server.start()
        host, port = self.server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        self.env = {n: v for n, v in os.environ.items() if not n.startswith("AWS_")} | {
            "AWS_ENDPOINT_URL": self.endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-west-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        ec2 = self.client("ec2")
        self.values = {
            "SubnetIds": ",".join(s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]),
            "SecurityGroupIds": ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"],
            "ImageId": ec2.describe_images()["Images"][0]["ImageId"], "MinVCpus": "2", "MaxVCpus": "4", "MinMemory": "2048",
            "OnDemandShare": "0", "ArtefactBucket": "artefacts", "PackageKey": "muster.rpm", "FunctionKey": "lambda.zip",
            "WorkCommand": "/usr/bin/true", "ImageRepository": "worker", "ImageTag": "1", "TaskCpu": "256", "TaskMemory": "512",
            "TokenParameter": "token", "FirstTarget": "10",
        }
        s3 = self.client("s3")
        s3.create_bucket(Bucket="artefacts", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        s3.put_object(Bucket="artefacts", Key="lambda.zip", Body=b"")

    def client(self, service):
        return boto3.client(service, endpoint_url=self.endpoint, region_name="eu-west-1", aws_access_key_id="test", aws_secret_access_key="test")

    def make(self, name, text):
        """Makes a stack and returns the types of what was made."""
        parsed = yaml.load(text, Functions)
        parameters = [{"ParameterKey": p, "ParameterValue": self.values[p]} for p in parsed["Parameters"]]
        cloudformation = self.client("cloudformation")
        cloudformation.create_stack(StackName=name, TemplateBody=text, Parameters=parameters, Capabilities=["CAPABILITY_IAM"])
        equal(cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"], "CREATE_COMPLETE")
        made = {r["LogicalResourceId"]: r["ResourceType"] for r in cloudformation.list_stack_resources(StackName=name)["StackResourceSummaries"]}
        missing = {n for n, r in parsed["Resources"].items() if n not in made and r["Type"] not in unknown}
        equal(missing, set())
        return parsed["Resources"]

@contextlib.contextmanager
def cloud():
    c = Cloud()
    try:
        yield c
    finally:
        requests.post(c.endpoint + "/moto-api/reset", timeout=20)
        c.server.stop()


def properties(resources, kind):
    return next((r["Properties"] for r in resources.values() if r["Type"] == kind), None)


def read_back(c, resources):
    """Reads back what the stack made, and compares it with the template."""
    for r in resources.values():
        if r["Type"] == "AWS::SQS::Queue":
            url = c.client("sqs").get_queue_url(QueueName=r["Properties"]["QueueName"])["QueueUrl"]
            has = c.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
            equal(has["MessageRetentionPeriod"], str(r["Properties"]["MessageRetentionPeriod"]))
            equal("RedrivePolicy" in has, "RedrivePolicy" in r["Properties"])
    if group := properties(resources, "AWS::AutoScaling::AutoScalingGroup"):
        has = c.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[group["AutoScalingGroupName"]])["AutoScalingGroups"][0]
        equal((has["MinSize"], has["MaxSize"], has["NewInstancesProtectedFromScaleIn"]), (group["MinSize"], group["MaxSize"], True))
        true("InstanceRequirements" in has["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"][0], "the group has no requirements of instances")
    if task := properties(resources, "AWS::ECS::TaskDefinition"):
        has = c.client("ecs").describe_task_definition(taskDefinition=task["Family"])["taskDefinition"]
        equal(has["containerDefinitions"][0]["name"], "worker")
    if service := properties(resources, "AWS::ECS::Service"):
        cluster = properties(resources, "AWS::ECS::Cluster")["ClusterName"]
        equal(c.client("ecs").describe_services(cluster=cluster, services=[service["ServiceName"]])["services"][0]["serviceName"], service["ServiceName"])
    for r in resources.values():
        if r["Type"] == "AWS::Lambda::Function":
            has = c.client("lambda").get_function_configuration(FunctionName=r["Properties"]["FunctionName"])
            equal(has["Environment"]["Variables"], r["Properties"]["Environment"]["Variables"])


def create():
    for name in names:
        with cloud() as c:
            check(f"a simulated CloudFormation makes {name}", lambda: read_back(c, c.make("stack", template(examples / f"{name}.yaml"))))


def fleet(work):
    """Runs a fleet on the queue and the group of a stack: 30 messages at 10 for each instance are 3 instances."""
    config = pathlib.Path(work) / "muster.yaml"
    config.write_text("""version: 1
listen: {queue: "127.0.0.1:0", api: "127.0.0.1:0"}
aws: {queue_metrics: false}
fleets:
  - name: web
    queue: https://sqs.eu-west-1.amazonaws.com/123456789012/web
    max: 5
    policy: {name: backlog-per-worker, acceptable: 10}
    asg: {group: web, reports: none, launch: size}
    poll: 1s
""")
    with cloud() as c:
        # AWS takes the size of a volume from the image; the stand-in wants it stated to launch an instance.
        c.make("web", template(config).replace("VolumeType: gp3", "VolumeType: gp3, VolumeSize: 8"))
        url = c.client("sqs").get_queue_url(QueueName="web")["QueueUrl"]
        for i in range(30):
            c.client("sqs").send_message(QueueUrl=url, MessageBody=str(i))
        size = lambda: c.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=["web"])["AutoScalingGroups"][0]
        with open(pathlib.Path(work) / "log", "w", encoding="utf-8") as log:
            up = subprocess.Popen([muster, "up", "-f", config], cwd=work, env=c.env, stdout=log, stderr=log)
            try:
                within(40, "3 instances", lambda: size()["DesiredCapacity"] == 3 and len(size()["Instances"]) == 3)
            finally:
                up.send_signal(signal.SIGINT)
                up.wait(30)
        true(all(i["ProtectedFromScaleIn"] for i in size()["Instances"]), "an instance is not protected")


def commands(chapter):
    """The commands of a chapter of docs/deploy.md that call AWS, and make what they need."""
    text = (root / "docs" / "deploy.md").read_text(encoding="utf-8")
    text = text[text.index(f"\n## {chapter}\n") + 1:]
    text = text[:text.index("\n## ")]
    return "\n".join(re.findall(r"^```bash\n(.*?)^```$", text, re.M | re.S))


def page(work):
    """Runs the commands of docs/deploy.md as they stand there, and reads back the controller's service and group."""
    aws = shutil.which("aws", path=os.environ.get("MUSTER_AWS_PATH", os.environ["PATH"]))
    if not aws:
        if os.environ.get("CI") == "true":
            check("the commands of docs/deploy.md run", lambda: true(False, "there is no command aws, and CI needs it"))
            return
        print("skip the commands of docs/deploy.md: there is no command aws")
        return
    place = pathlib.Path(work) / "page"
    place.mkdir()
    shutil.copy(examples / "s4-tasks.yaml", place / "muster.yaml")
    (place / "muster_VERSION_aarch64.rpm").write_text("")
    with cloud() as c:
        c.client("s3").create_bucket(Bucket="my-programs", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        env = c.env | {
            "PATH": f"{muster.parent}:{pathlib.Path(aws).parent}:{os.environ['PATH']}", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_PAGER": "",
            "SUBNET": c.values["SubnetIds"].split(",")[0], "SECURITY_GROUP": c.values["SecurityGroupIds"], "IMAGE": c.values["ImageId"],
        }

        def follow(chapter):
            text = commands(chapter).replace('"VolumeType": "gp3"', '"VolumeType": "gp3", "VolumeSize": 8')  # as above
            done = subprocess.run(["bash", "-euc", text], cwd=place, env=env, capture_output=True, text=True, timeout=150)
            equal(done.returncode, 0, done.stderr[-400:])

        def on_ecs():
            follow("On ECS")
            service = c.client("ecs").describe_services(cluster="muster", services=["muster"])["services"][0]
            equal(service["desiredCount"], 1)
            allowed = c.client("iam").get_role_policy(RoleName="muster", PolicyName="muster")["PolicyDocument"]["Statement"]
            true(any("ecs:RunTask" in s["Action"] for s in allowed), "the controller may not start tasks")

        def on_a_group():
            follow("On a group of one instance")
            group = c.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=["muster"])["AutoScalingGroups"][0]
            equal((group["MinSize"], group["MaxSize"], len(group["Instances"])), (1, 1, 1))

        check("the commands of docs/deploy.md make a controller on ECS", on_ecs)
        check("the commands of docs/deploy.md make a controller on an instance", on_a_group)


with tempfile.TemporaryDirectory() as directory:
    lint(directory)
    terraform(directory)
    create()
    check("a fleet sizes the group of a stack by its queue", lambda: fleet(directory))
    page(directory)
sys.exit(failed > 0)
