from evodiverse.vocabulary import Message, Reason, Rejection, Request


class BitPrompts:
    """Asks for bits after an equals sign; the hot prompt is the longer one."""

    sha256 = "of the toy's prompts"
    example = "01" * 12

    def messages(self, request: Request) -> tuple[Message, ...]:
        parents = " ".join(parent.genotype for parent in request.parents)
        return (Message("user", f"{request.prompt} {parents} {request.stream}"),)

    def read(self, request: Request, reply: str) -> str | Rejection:
        _, sign, bits = reply.rpartition("=")
        return bits if sign else Rejection(Reason.NO_ANSWER, "the reply proposes nothing")
