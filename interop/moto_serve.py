"""Serves moto, a stand-in for AWS, on a free loopback port, which it writes to the file that is named."""
import sys
import threading

from moto.ecs import models
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

begin = models.Container.__init__


def with_texts(self, task_def):
    """The resources of a container are texts in the API; moto answers with the numbers of its definition."""
    begin(self, task_def)
    for name in ("cpu", "memory"):
        if getattr(self, name) is not None:
            setattr(self, name, str(getattr(self, name)))


models.Container.__init__ = with_texts

answer = DomainDispatcherApplication(create_backend_app)
table = threading.Lock()


def serve(environ, start_response):
    """DynamoDB checks a condition and writes in one step, moto in two: so one thread at a time is at its tables."""
    if environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB"):
        with table:
            return answer(environ, start_response)
    return answer(environ, start_response)


server = make_server("127.0.0.1", 0, serve, threaded=True)
with open(sys.argv[1], "w", encoding="ascii") as file:
    file.write(str(server.server_port))
server.serve_forever()
