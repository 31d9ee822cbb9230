import { covercryptError } from './error.ts'
import {
  type Attribute,
  type AttributeName,
  combinations,
  type Dimension,
  findAttribute,
  findDimension,
  findSharedIds,
  formatQualifiedName,
  maxRights,
  parseAttributeName,
  type Right,
  type Structure,
  toRight,
} from './structure.ts'

/** Attributes joined by AND. The empty clause is the policy `*`. */
type Clause = readonly AttributeName[]

/** A policy in disjunctive normal form: its clauses joined by OR. */
type Policy = readonly Clause[]

const maxPolicyBytes = 16_384
/** Maximum numbers of attributes in a policy, and in all clauses of its disjunctive normal form. */
const maxTerms = 512
const maxExpandedTerms = 8192
const maxDepth = 64

type Token = '(' | ')' | '&&' | '||' | '*' | AttributeName

/**
 * Reads a policy into its disjunctive normal form:
 *
 *     policy  = clause *( "||" clause )
 *     clause  = element *( 1*"&&" element / element )
 *     element = "(" policy ")" / attribute / "*"
 *
 * `&&` may be left out next to a parenthesis. A policy with `&&` and `||` side by side is refused: two releases of the
 * deployed library read `A && B || C` differently, and who reads the data would depend on it. `*` must be the last element or stand
 * alone in parentheses: it changes nothing in an AND, and includes everything in an OR.
 *
 * @throws CovercryptError invalid_policy, too_large
 */
export function parsePolicy(text: string): Policy {
  if (Buffer.byteLength(text) > maxPolicyBytes)
    throw covercryptError('too_large', `A policy has at most ${maxPolicyBytes} bytes.`)
  return new Parser(tokenize(text)).policy()
}

function refuse(reason: string): never {
  throw covercryptError('invalid_policy', `The policy cannot be read: ${reason}.`)
}

function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = []
  let terms = 0
  for (const [found] of text.matchAll(/&+|\|+|[()]|[^()&|]+/g)) {
    const piece = found.trim()
    if (piece === '') continue
    if (piece === '(' || piece === ')' || piece === '&&' || piece === '||' || piece === '*')
      tokens.push(piece)
    else if (/^[&|]/.test(piece)) refuse(`${piece.slice(0, 8)} is not an operator; write && or ||`)
    else tokens.push(parseAttributeName(piece))
    if (!/^[()&|]/.test(piece) && ++terms > maxTerms)
      throw covercryptError('too_large', `A policy names at most ${maxTerms} attributes.`)
  }
  return tokens
}

class Parser {
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  policy(): Policy {
    if (this.#tokens.length === 0) refuse('it is empty; write * for all users')
    const policy = this.#alternatives()
    if (this.#next() !== undefined) refuse('a closing parenthesis has no opening one')
    return policy
  }

  #next(): Token | undefined {
    return this.#tokens[this.#at]
  }

  #alternatives(): Policy {
    let { policy, isJoined } = this.#conjunction()
    let hasAlternatives = false
    while (this.#next() === '||') {
      this.#at++
      hasAlternatives = true
      const next = this.#conjunction()
      isJoined ||= next.isJoined
      policy = requireBounded(either(policy, next.policy))
    }
    if (hasAlternatives && isJoined)
      refuse('&& and || are mixed without parentheses; write (A && B) || C or A && (B || C)')
    return policy
  }

  /** Parses elements joined by AND; `isJoined`: there are several. */
  #conjunction(): { policy: Policy; isJoined: boolean } {
    let policy = this.#element()
    let isJoined = false
    for (;;) {
      const before = this.#tokens[this.#at - 1]
      const joined = this.#operators()
      const next = this.#next()
      if (next === undefined || next === ')') {
        if (joined) refuse('it ends after &&')
        return { policy, isJoined }
      }
      if (next === '||') {
        if (joined) refuse('|| follows &&')
        return { policy, isJoined }
      }
      if (!joined && before !== ')' && next !== '(') refuse('an operator is missing between two attributes')
      isJoined = true
      policy = both(policy, this.#element())
    }
  }

  /** Skips `&&`, repeated ones included. */
  #operators(): boolean {
    const start = this.#at
    while (this.#next() === '&&') this.#at++
    return this.#at > start
  }

  #element(): Policy {
    const token = this.#tokens[this.#at++]
    if (token === '(') return this.#parenthesised()
    if (token === '*') {
      const next = this.#next()
      if (next !== undefined && next !== ')') refuse('* must be the last element or be in parentheses')
      return [[]]
    }
    if (token === undefined) return refuse('it ends after an operator')
    if (typeof token === 'string') return refuse(`an attribute is missing before ${token}`)
    return [[token]]
  }

  #parenthesised(): Policy {
    if (++this.#depth > maxDepth) refuse(`parentheses are nested more than ${maxDepth} deep`)
    const policy = this.#alternatives()
    if (this.#tokens[this.#at++] !== ')') refuse('an opening parenthesis is not closed')
    this.#depth--
    return policy
  }
}

const isEverything = (policy: Policy): boolean => policy.some((clause) => clause.length === 0)

function either(left: Policy, right: Policy): Policy {
  return isEverything(left) || isEverything(right) ? [[]] : [...left, ...right]
}

function both(left: Policy, right: Policy): Policy {
  const size = (policy: Policy): number => policy.reduce((sum, { length }) => sum + length, 0)
  // The size is checked before the product is built.
  checkSize(size(left) * right.length + size(right) * left.length)
  return left.flatMap((one) => right.map((other) => [...one, ...other]))
}

function requireBounded(policy: Policy): Policy {
  checkSize(policy.reduce((sum, { length }) => sum + length, 0))
  return policy
}

function checkSize(terms: number): void {
  if (terms > maxExpandedTerms)
    throw covercryptError(
      'too_large',
      'The policy has too many combinations; write it with fewer alternatives.',
    )
}

/** Maximum number of rights of a ciphertext. */
export const maxTargets = 128

/** Maximum number of combinations for the policy of a user, summed over its clauses. */
const maxCombinations = 16 * maxRights

type Named = ReadonlyMap<Dimension, Attribute>

/**
 * Returns the rights that a ciphertext of this policy is encrypted for: one of each clause.
 *
 * @throws CovercryptError unknown_attribute, invalid_policy (two attributes of a dimension in one clause), too_large
 */
export function encryptionRights(structure: Structure, policy: Policy): ReadonlySet<Right> {
  const named = createNameReader(structure)
  const rights = new Set<Right>()
  for (const clause of policy) {
    rights.add(toRight([...named(clause).values()].map(({ id }) => id)))
    if (rights.size > maxTargets)
      throw covercryptError('too_large', `A ciphertext is made for at most ${maxTargets} rights.`)
  }
  return rights
}

/**
 * Returns the rights of a user with this policy. For each clause they are all combinations of one option per
 * dimension: no attribute, or the attribute that the clause names (in a hierarchy also the lower ones), or any
 * attribute of a dimension that it does not name. Of two attributes of a dimension in one clause the last one counts,
 * as in the deployed library.
 *
 * @throws CovercryptError unknown_attribute, invalid_policy, too_large
 */
export function userRights(structure: Structure, policy: Policy): ReadonlySet<Right> {
  const named = createNameReader(structure, 'the last counts')
  const rights = new Set<Right>()
  const done = new Set<string>()
  let combined = 0
  for (const clause of policy) {
    const attributes = named(clause)
    const same = toRight([...attributes.values()].map(({ id }) => id))
    if (done.has(same)) continue
    done.add(same)
    const choices = structure.dimensions.map((dimension) =>
      listReachableAttributes(dimension, attributes.get(dimension)),
    )
    const found = combinations(choices)
    combined += found.length
    if (combined > maxCombinations)
      throw covercryptError(
        'too_large',
        'The policy has too many combinations; write it with fewer alternatives.',
      )
    for (const chosen of found) rights.add(toRight(chosen.map(({ id }) => id)))
  }
  return rights
}

/**
 * Lists the attributes of a dimension for a user with `attribute`; all of them if the policy does not name the
 * dimension.
 */
function listReachableAttributes(
  dimension: Dimension,
  attribute: Attribute | undefined,
): readonly Attribute[] {
  if (attribute === undefined) return dimension.attributes
  if (!dimension.ordered) return [attribute]
  return dimension.attributes.slice(0, dimension.attributes.indexOf(attribute) + 1)
}

/** @param twice treatment of two attributes of one dimension in a clause; default: the policy is refused */
function createNameReader(
  structure: Structure,
  twice: 'refused' | 'the last counts' = 'refused',
): (clause: Clause) => Named {
  const shared = findSharedIds(structure)
  return (clause) => {
    const named = new Map<Dimension, Attribute>()
    for (const name of clause) addName(named, structure, shared, name, twice)
    return named
  }
}

function addName(
  named: Map<Dimension, Attribute>,
  structure: Structure,
  shared: ReadonlySet<number>,
  { dimension: dimensionName, name }: AttributeName,
  twice: 'refused' | 'the last counts',
): void {
  const dimension = findDimension(structure, dimensionName)
  const attribute = findAttribute(dimension, name)
  if (twice === 'refused' && named.has(dimension))
    throw covercryptError(
      'invalid_policy',
      `The policy requires two attributes of ${dimension.name} at once.`,
    )
  if (shared.has(attribute.id))
    throw covercryptError(
      'invalid_policy',
      `Another attribute has the id of ${formatQualifiedName(dimension, attribute)}, so keys of one would decrypt data of the other: delete one of them.`,
    )
  named.set(dimension, attribute)
}
