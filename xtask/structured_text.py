"""Runs Structured Text: a second reading of it, by another parser and another way of computing than `fpsrl verify` has.

tree-sitter parses it by a grammar of IEC 61131-3 that is not ours. What it has read is checked as a compiler for a PLC would check
it, and computed with NumPy's numbers of 32 and 64 bits, many controllers at once (lanes). It is stricter than a PLC. Refused are:

- variables that are not declared or declared twice, assignments to inputs, and types that do not fit: nothing is converted by itself;
- reading a temporary variable before it was written, in any lane;
- arithmetic with or into what is no finite number, division by zero, and whole numbers beyond a DINT: a PLC may stop at each of
  them. Comparisons with NaN are allowed; none holds.

AND and OR look at both sides, as the standard allows.
"""
import re

import numpy as np
import tree_sitter
import tree_sitter_iec61131_3_st

LANGUAGE = tree_sitter.Language(tree_sitter_iec61131_3_st.language())
KINDS = {"LREAL": np.float64, "REAL": np.float32, "BOOL": np.bool_, "DINT": np.int64}
SECTIONS = {"var_input": "input", "var_output": "output", "var_in_out": "in_out", "var_block": "static", "var_temp": "temporary"}
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "=": np.equal, "<>": np.not_equal}
LOGIC = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}
CONVERSIONS = {f"{of}_TO_{to}": (of, to) for of in ("LREAL", "REAL", "DINT") for to in ("LREAL", "REAL", "DINT") if of != to}
# A literal takes the type of what it stands beside.
ANY_REAL = "ANY_REAL"


class Refused(Exception):
    """What a compiler refuses, or a PLC stops at."""


def text_of(node):
    return node.text.decode()


def named(node):
    return [child for child in node.children if child.is_named and child.type != "comment"]


def of_siemens(source):
    """SCL as the standard has it: without quotes, `#`, attributes and BEGIN."""
    source = re.sub(r"^(\{ S7_.*\}|VERSION : .*|BEGIN)$", "", source, flags=re.MULTILINE)
    return re.sub(r'"(\w+)"', r"\1", source).replace("#", "")


class Block:
    """A function block: its variables, and its statements as functions of an instance and of the lanes that they hold for."""

    def __init__(self, node, blocks):
        children = named(node)
        self.name = text_of(children[0])
        self.blocks = blocks
        self.variables = {}
        body = []
        for child in children[1:]:
            if child.type in SECTIONS:
                self.declare(child, SECTIONS[child.type])
            elif child.type != "empty_statement":
                body.append(child)
        self.body = [self.statement(one) for one in body]

    def declare(self, node, section):
        for declaration in named(node):
            if declaration.type != "variable_declaration":
                raise Refused(f"{declaration.type} in a declaration of {self.name}")
            *names, kind = [child for child in named(declaration) if child.type in ("identifier", "elementary_type")]
            if not names:
                raise Refused(f"a declaration without a name in {self.name}: {text_of(declaration)}")
            initial = [child for child in named(declaration) if child not in (*names, kind)]
            of_type = text_of(kind).upper()
            if kind.type == "identifier":
                if of_type not in self.blocks:
                    raise Refused(f"{self.name}: there is no type {of_type}")
            elif of_type not in KINDS:
                raise Refused(f"{self.name}: the type {of_type} is not one of this reading")
            for name in names:
                key = text_of(name).upper()
                if key in self.variables:
                    raise Refused(f"{self.name}: {key} is declared twice")
                if key == self.name.upper():
                    raise Refused(f"{self.name}: a variable is called like its block")
                value = None
                if initial:
                    literal = self.expression(initial[0])
                    self.fits(literal[0], of_type, declaration)
                    value = literal[1](None, None)
                self.variables[key] = (section, of_type, value)

    def fits(self, given, wanted, node):
        if given != wanted and not (given == ANY_REAL and wanted in ("REAL", "LREAL")):
            raise Refused(f"{self.name}, line {node.start_point[0] + 1}: {given} is given for {wanted}: {text_of(node)}")

    def variable(self, node):
        name = text_of(node).upper()
        if name not in self.variables:
            raise Refused(f"{self.name}, line {node.start_point[0] + 1}: {name} is not declared")
        return (name, *self.variables[name])

    # Statements.

    def statement(self, node):
        if node.type == "assignment_statement":
            return self.assignment(node)
        if node.type == "if_statement":
            return self.choice(node)
        if node.type == "invocation_statement":
            return self.invocation(named(node)[0])
        raise Refused(f"{self.name}, line {node.start_point[0] + 1}: {node.type} is not one of this reading")

    def statements(self, nodes):
        return [self.statement(node) for node in nodes if node.type != "empty_statement"]

    def assignment(self, node):
        target, value = named(node)
        name, section, kind, _ = self.variable(target)
        if section == "input":
            raise Refused(f"{self.name}, line {node.start_point[0] + 1}: the input {name} is assigned to")
        given, compute = self.expression(value)
        self.fits(given, kind, node)
        number = KINDS[kind]
        is_temporary = section == "temporary"

        def assign(instance, lanes):
            values = compute(instance, lanes)
            if given == ANY_REAL:
                values = number(values)
            np.copyto(instance.values[name], values, where=lanes)
            if is_temporary:
                instance.written[name] |= lanes

        return assign

    def choice(self, node):
        children = named(node)
        if any(child.type == "elsif_clause" for child in children):
            raise Refused(f"{self.name}: ELSIF is not one of this reading")
        given, condition = self.expression(children[0])
        self.fits(given, "BOOL", node)
        otherwise = [child for child in children if child.type == "else_clause"]
        then = self.statements([child for child in children[1:] if child.type != "else_clause"])
        instead = self.statements(named(otherwise[0])) if otherwise else []

        def choose(instance, lanes):
            holds = condition(instance, lanes)
            for statements, chosen in ((then, lanes & holds), (instead, lanes & ~holds)):
                if statements and chosen.any():
                    for statement in statements:
                        statement(instance, chosen)

        return choose

    def invocation(self, node):
        function, arguments = named(node)
        name, _, kind, _ = self.variable(function)
        if kind in KINDS:
            raise Refused(f"{self.name}: {name} is called and is no block")
        called = self.blocks[kind]
        given = []
        for argument in named(arguments):
            if argument.type != "named_argument":
                raise Refused(f"{self.name}, line {node.start_point[0] + 1}: an argument without a name")
            formal, value = named(argument)
            key, section, wanted, _ = called.variable(formal)
            got, compute = self.expression(value)
            self.fits(got, wanted, argument)
            reference = None
            if section == "in_out":
                reference = self.variable(value)[0]
            elif section != "input":
                raise Refused(f"{self.name}: {key} of {kind} is neither an input nor handed over")
            given.append((key, KINDS[wanted], compute, reference))
        missing = [key for key, (section, *_) in called.variables.items() if section == "in_out" and key not in [g[0] for g in given]]
        if missing:
            raise Refused(f"{self.name}: {kind} is called without {missing}")

        def invoke(instance, lanes):
            inner = instance.inner[name]
            for key, number, compute, reference in given:
                if reference is None:
                    np.copyto(inner.values[key], number(compute(instance, lanes)), where=lanes)
                else:
                    compute(instance, lanes)  # it must have been written
                    inner.values[key] = instance.values[reference]
            inner.call(lanes)

        return invoke

    # Expressions: a type, and a function that computes a value.

    def expression(self, node):
        place = f"{self.name}, line {node.start_point[0] + 1}"
        if node.type == "parenthesized_expression":
            return self.expression(named(node)[0])
        if node.type == "real_literal":
            written = text_of(node)
            if not np.isfinite(float(written)):
                raise Refused(f"{place}: {written} is beyond an LREAL")
            return ANY_REAL, lambda instance, lanes: written
        if node.type == "boolean_literal":
            value = np.bool_(text_of(node).upper() == "TRUE")
            return "BOOL", lambda instance, lanes: value
        if node.type == "identifier":
            return self.reading(node, place)
        if node.type == "unary_expression":
            operator = text_of(node.children[0]).upper()
            kind, operand = self.expression(named(node)[0])
            if operator == "NOT":
                self.fits(kind, "BOOL", node)
                return kind, lambda instance, lanes: ~operand(instance, lanes)
            if operator == "-" and kind in ("REAL", "LREAL"):
                return kind, lambda instance, lanes: -operand(instance, lanes)
            raise Refused(f"{place}: {operator} before {kind}")
        if node.type == "binary_expression":
            return self.binary(node, place)
        if node.type == "call_expression":
            return self.function(node, place)
        raise Refused(f"{place}: {node.type} is not one of this reading: {text_of(node)}")

    def reading(self, node, place):
        name, section, kind, _ = self.variable(node)
        if kind not in KINDS:
            raise Refused(f"{place}: a block is read as a value: {name}")
        if section != "temporary":
            return kind, lambda instance, lanes: instance.values[name]

        def read(instance, lanes):
            if (lanes & ~instance.written[name]).any():
                raise Refused(f"{place}: {name} is read before it is written")
            return instance.values[name]

        return kind, read

    def binary(self, node, place):
        left, right = named(node)
        operator = text_of(node.children[1]).upper()
        (of_left, left), (of_right, right) = self.expression(left), self.expression(right)
        kind = of_right if of_left == ANY_REAL else of_left
        for one in (of_left, of_right):
            if one != ANY_REAL and one != kind:
                raise Refused(f"{place}: {of_left} {operator} {of_right}")
        if operator in LOGIC:
            if kind != "BOOL":
                raise Refused(f"{place}: {operator} of {kind}")
            function = LOGIC[operator]
            return kind, lambda instance, lanes: function(left(instance, lanes), right(instance, lanes))
        if kind not in ("REAL", "LREAL"):
            raise Refused(f"{place}: {of_left} {operator} {of_right}")
        number = KINDS[kind]

        def literal(side, given):
            if given != ANY_REAL:
                return side
            value = number(side(None, None))
            if not np.isfinite(value):
                raise Refused(f"{place}: {side(None, None)} is beyond a {kind}")
            return lambda instance, lanes: value

        left, right = literal(left, of_left), literal(right, of_right)
        if operator in COMPARISONS:
            function = COMPARISONS[operator]
            return "BOOL", lambda instance, lanes: function(left(instance, lanes), right(instance, lanes))
        if operator not in ARITHMETIC:
            raise Refused(f"{place}: the operator {operator} is not one of this reading")
        function = ARITHMETIC[operator]

        def compute(instance, lanes):
            result = function(left(instance, lanes), right(instance, lanes))
            # From what is not finite nothing finite comes but by a division; that is looked at too.
            if not np.isfinite(result[lanes] if np.ndim(result) else result).all():
                raise Refused(f"{place}: it computes what is no finite number: {text_of(node)}")
            return result

        if operator != "/":
            return kind, compute

        def divide(instance, lanes):
            if not np.isfinite(np.broadcast_to(right(instance, lanes), lanes.shape)[lanes]).all():
                raise Refused(f"{place}: it divides by what is no finite number")
            return compute(instance, lanes)

        return kind, divide

    def function(self, node, place):
        function, arguments = named(node)
        name = text_of(function).upper()
        (argument,) = named(arguments)
        kind, value = self.expression(argument)
        if name in CONVERSIONS:
            of, to = CONVERSIONS[name]
            self.fits(kind, of, node)

            def convert(instance, lanes):
                given = value(instance, lanes)
                if to == "DINT":
                    # To the nearest, and to the even one of two; only lanes that count are looked at.
                    given = np.where(lanes, given, 0)
                    if not (np.abs(given) < 2**31).all():
                        raise Refused(f"{place}: a number is beyond a DINT")
                    given = np.rint(given)
                return given.astype(KINDS[to])

            return to, convert
        if name not in ("ABS", "EXP") or kind not in ("REAL", "LREAL"):
            raise Refused(f"{place}: {name} of {kind} is not one of this reading")
        if name == "ABS":
            return kind, lambda instance, lanes: np.abs(value(instance, lanes))

        def exponential(instance, lanes):
            result = np.exp(value(instance, lanes))
            if not np.isfinite(result[lanes]).all():
                raise Refused(f"{place}: EXP gives what is no finite number")
            return result

        return kind, exponential


class Instance:
    """A block in many lanes."""

    def __init__(self, block, lanes):
        self.block = block
        self.lanes = lanes
        self.values, self.written, self.inner = {}, {}, {}
        for name, (section, kind, initial) in block.variables.items():
            if kind not in KINDS:
                self.inner[name] = Instance(block.blocks[kind], lanes)
                continue
            number = KINDS[kind]
            self.values[name] = np.full(lanes, number(initial if initial is not None else 0), dtype=number)
            if section == "temporary":
                self.written[name] = np.zeros(lanes, dtype=bool)

    def call(self, lanes):
        for name, written in self.written.items():
            written &= ~lanes
            if self.values[name].dtype.kind == "f":
                self.values[name][lanes] = np.nan
        for statement in self.block.body:
            statement(self, lanes)


def blocks_of(source):
    """The blocks of a source by name, the last of which is the controller."""
    tree = tree_sitter.Parser(LANGUAGE).parse(source.encode())
    if tree.root_node.has_error:
        raise Refused("the grammar refuses it: " + first_error(tree.root_node))
    blocks = {}
    for node in named(tree.root_node):
        if node.type != "function_block_declaration":
            raise Refused(f"{node.type} is not one of this reading")
        block = Block(node, blocks)
        if block.name.upper() in blocks:
            raise Refused(f"{block.name} is declared twice")
        blocks[block.name.upper()] = block
    return blocks


def first_error(node):
    for child in node.children:
        if child.type == "ERROR" or child.is_missing:
            return f"line {child.start_point[0] + 1}: {text_of(child)[:80]}"
        if child.has_error:
            return first_error(child)
    return f"line {node.start_point[0] + 1}: {text_of(node)[:80]}"
