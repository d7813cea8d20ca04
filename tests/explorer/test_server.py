"""The command: where it listens, and what it says."""

import socket
import threading
import urllib.request

import pytest
import typer

from harmonium.cli import explore
from harmonium.cli.terminal import Terminal
from harmonium.explorer.server import bind


def test_a_port_that_is_taken_is_named(app):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=rf"cannot listen on 127\.0\.0\.1, port {port}: it is in use; choose another with --port"):
            bind(app, "127.0.0.1", port)
    with pytest.raises(ValueError, match=r"cannot listen on no\.such\.host\.invalid"):
        bind(app, "no.such.host.invalid", 0)


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_the_command_serves_and_says_what_an_open_host_means(model, tmp_path, monkeypatch, capsys, host, warned):
    model.save(tmp_path / "model.harmonium")
    opened, seen = [], []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def visit(server):
        def get():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=300) as response:
                    seen.append(response.status)
            finally:
                server.shutdown()  # or the test would never end

        threading.Thread(target=get).start()
        original(server)

    from werkzeug.serving import ThreadedWSGIServer

    original = ThreadedWSGIServer.serve_forever
    monkeypatch.setattr(ThreadedWSGIServer, "serve_forever", visit)
    app = typer.Typer()
    app.command()(explore.run)
    path = str(tmp_path / "model.harmonium")
    app([path, "--host", host, "--port", "0", "--no-browser"], standalone_mode=False, obj=Terminal())
    said = capsys.readouterr().err
    assert seen == [200]
    assert not opened
    assert "serving on http://" in said
    assert said.endswith("stopped\n")
    assert ("anyone who can reach this machine can use the model, and what they enter travels unencrypted" in said) == warned
