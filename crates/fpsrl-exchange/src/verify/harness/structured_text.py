"""Runs an exported function block over the states that come in, a line a state.

blark, a parser of IEC 61131-3 that is not ours, reads the block; what it has read is translated to C statement by
statement, compiled by the C compiler of this machine, and run. Of SCL, what differs from the standard (quotes, #, the
block's attributes and BEGIN) is removed before.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import blark
    from blark import transform as st
except ImportError:
    sys.stderr.write("the Python package blark is not installed")
    sys.exit(3)

COMPILER = next((c for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c)), None)
if COMPILER is None:
    sys.stderr.write("there is no C compiler")
    sys.exit(3)

TYPES = {"LREAL": "double", "REAL": "float", "BOOL": "bool"}
# To the nearest whole number, and back.
ROUNDING = {"LREAL_TO_DINT": "lrint", "REAL_TO_DINT": "lrint", "DINT_TO_LREAL": "(double)", "DINT_TO_REAL": "(float)"}
OPERATORS = {"AND": "&&", "OR": "||", "=": "==", "<>": "!="}
SECTIONS = {
    st.InputDeclarations: "input",
    st.OutputDeclarations: "output",
    st.InputOutputDeclarations: "in_out",
    st.VariableDeclarations: "static",
    st.TemporaryVariableDeclarations: "temporary",
}


class Block:
    """A function block: its variables by section, and its statements."""

    def __init__(self, tree):
        self.name = str(tree.name)
        self.variables = {}
        for declarations in tree.declarations:
            section = SECTIONS[type(declarations)]
            for item in declarations.items:
                type_name, value = str(item.init.spec.type).upper(), item.init.value
                for declared in item.variables:
                    self.variables[str(declared.variable.name).lower()] = (section, type_name, value)
        self.statements = tree.body.statements
        self.real = "float" if any(kind == "REAL" for _, kind, _ in self.variables.values()) else "double"


class Translator:
    def __init__(self, blocks):
        self.blocks = {block.name.upper(): block for block in blocks}

    def program(self, main, states, actions, sums):
        parts = ["#include <math.h>", "#include <stdbool.h>", "#include <stdio.h>", "#include <stdlib.h>"]
        parts += [self.block(block) for block in self.blocks.values()]
        kind = main.real
        resets = "        self.v_reset = strtod(rest, &rest) > 0.0;\n" if sums else ""
        reads = resets + "\n".join(f"        self.v_{name.lower()} = ({kind})strtod(rest, &rest);" for name in states)
        writes = "\n".join(f'        printf("%.17g ", (double)self.v_{name.lower()});' for name in actions)
        parts.append(f"""
int main(void)
{{
    static char line[65536];
    struct {main.name} self;
    {main.name}_init(&self);
    while (fgets(line, sizeof line, stdin) != NULL) {{
        char *rest = line;
{reads}
        {main.name}_call(&self);
{writes}
        printf("%d\\n", self.v_outside ? 1 : 0);
    }}
    return 0;
}}""")
        return "\n".join(parts)

    def type(self, name):
        return TYPES[name] if name in TYPES else f"struct {self.blocks[name].name}"

    def block(self, block):
        self.current = block
        fields, locals_, begin = [], [], []
        for name, (section, kind, value) in block.variables.items():
            if section == "in_out":
                fields.append(f"    {self.type(kind)} *v_{name};")
            elif section == "temporary":
                locals_.append(f"    {self.type(kind)} v_{name};")
            else:
                fields.append(f"    {self.type(kind)} v_{name};")
                if kind in TYPES:
                    begin.append(f"    self->v_{name} = {self.expression(value) if value is not None else '0'};")
                else:
                    begin.append(f"    {self.blocks[kind].name}_init(&self->v_{name});")
        body = self.statement_list(block.statements, 1)
        return "\n".join(
            [f"\nstruct {block.name} {{", *fields, "};", f"static void {block.name}_init(struct {block.name} *self)", "{",
             *(begin or ["    (void)self;"]), "}", f"static void {block.name}_call(struct {block.name} *self)", "{",
             *locals_, body, "}"])

    def statement_list(self, statements, depth):
        return "\n".join(self.statement(statement, depth) for statement in statements)

    def statement(self, node, depth):
        pad = "    " * depth
        if isinstance(node, st.AssignmentStatement):
            (target,) = node.variables
            return f"{pad}{self.expression(target)} = {self.expression(node.expression)};"
        if isinstance(node, st.IfStatement):
            assert not node.else_ifs
            text = f"{pad}if ({self.expression(node.if_expression)}) {{\n"
            text += self.statement_list(node.statements.statements, depth + 1) + f"\n{pad}}}"
            if node.else_clause is not None:
                text += " else {\n" + self.statement_list(node.else_clause.statements.statements, depth + 1) + f"\n{pad}}}"
            return text
        if isinstance(node, (st.FunctionCallStatement, st.FunctionCall)):
            name = str(node.name).lower()
            called = self.blocks[self.current.variables[name][1]]
            lines = []
            for parameter in node.parameters:
                formal = str(parameter.name).lower()
                given = self.expression(parameter.value)
                reference = "&" if called.variables[formal][0] == "in_out" else ""
                lines.append(f"{pad}self->v_{name}.v_{formal} = {reference}{given};")
            lines.append(f"{pad}{called.name}_call(&self->v_{name});")
            return "\n".join(lines)
        raise SystemExit(f"a statement that the translation does not know: {type(node).__name__}: {node}")

    def expression(self, node):
        if isinstance(node, st.ParenthesizedExpression):
            return f"({self.expression(node.expr)})"
        if isinstance(node, st.BinaryOperation):
            operator = str(node.op).upper()
            return f"({self.expression(node.left)} {OPERATORS.get(operator, operator)} {self.expression(node.right)})"
        if isinstance(node, st.UnaryOperation):
            return f"({'!' if str(node.op).upper() == 'NOT' else str(node.op)}{self.expression(node.expr)})"
        if isinstance(node, st.Real):
            return f"{node.value}{'F' if self.current.real == 'float' else ''}"
        if isinstance(node, st.Boolean):
            return str(node.value).lower()
        if isinstance(node, st.SimpleVariable):
            name = str(node.name).lower()
            section = self.current.variables[name][0]
            return {"temporary": f"v_{name}", "in_out": f"(*self->v_{name})"}.get(section, f"self->v_{name}")
        if isinstance(node, st.FunctionCall):
            suffix = "f" if self.current.real == "float" else ""
            function = {"EXP": "exp", "ABS": "fabs", **ROUNDING}[str(node.name).upper()]
            if not function.isalpha():
                suffix = ""
            (parameter,) = node.parameters
            return f"{function}{suffix}({self.expression(parameter.value)})"
        raise SystemExit(f"an expression that the translation does not know: {type(node).__name__}: {node}")


def main():
    path, interface = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
    names = interface["names"]
    source = open(path, encoding="utf-8").read()
    if interface["target"]["dialect"] == "siemens":
        source = re.sub(r"^(\{ S7_.*\}|VERSION : .*|BEGIN)$", "", source, flags=re.MULTILINE)
        source = source.replace('"', "").replace("#", "")
    parsed = blark.parse_source_code(source)
    if parsed.exception is not None:
        raise SystemExit(f"blark refuses it: {parsed.exception}")
    blocks = [Block(item) for item in parsed.transform().items if isinstance(item, st.FunctionBlock)]
    translator = Translator(blocks)
    main_block = translator.blocks[names["controller"].upper()]
    text = translator.program(main_block, names["states"], names["actions"], interface["sums"])
    with tempfile.TemporaryDirectory() as directory:
        code, program = os.path.join(directory, "block.c"), os.path.join(directory, "block")
        with open(code, "w", encoding="utf-8") as file:
            file.write(text)
        flags = ["-std=c99", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Wno-parentheses-equality"]
        subprocess.run([COMPILER, *flags, code, "-o", program, "-lm"], check=True)
        subprocess.run([program], stdin=sys.stdin, check=True)
    from importlib.metadata import version
    sys.stderr.write(f"blark {version('blark')}, translated to C")


main()
