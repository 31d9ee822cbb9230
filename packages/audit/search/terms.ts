import { parseRecordJson } from '../record.ts'

/** Selects records: every member that is set must match. */
export interface SearchFilter {
  /** Unix milliseconds, inclusive and exclusive. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly principal?: string | undefined
  readonly object?: string | undefined
  /** The whole name, or the beginning of one and `*`. */
  readonly operation?: string | undefined
  readonly outcome?: 'success' | 'failure' | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
  /** Part of a name or a value in the details; upper and lower case are equal. */
  readonly text?: string | undefined
}

export type ParsedRecord = Readonly<Record<string, unknown>>

/** @returns undefined when the line is not a record */
export function parseLine(line: string): ParsedRecord | undefined {
  let record: unknown
  try {
    record = parseRecordJson(line)
  } catch {
    return undefined
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return undefined
  return record as ParsedRecord
}

/** Whether a line is a record that matches. */
export function isMatchingLine(line: string, filter: SearchFilter): boolean {
  const record = parseLine(line)
  return record !== undefined && matchesSearch(record, filter)
}

export function matchesSearch(record: ParsedRecord, filter: SearchFilter): boolean {
  const { since, until, operation, text } = filter
  if (filter.principal !== undefined && record.principal !== filter.principal) return false
  if (filter.object !== undefined && record.object !== filter.object) return false
  if (filter.outcome !== undefined && record.outcome !== filter.outcome) return false
  if (filter.address !== undefined && record.client_ip !== filter.address) return false
  if (filter.requestId !== undefined && record.request_id !== filter.requestId) return false
  if (operation !== undefined && !isOperation(String(record.operation), operation)) return false
  if (since !== undefined || until !== undefined) {
    const time = Date.parse(String(record.time))
    if (!(time >= (since ?? Number.NEGATIVE_INFINITY) && time < (until ?? Number.POSITIVE_INFINITY)))
      return false
  }
  return text === undefined || containsText(record.details, text.toLowerCase())
}

/** Whether a name is the wanted one, or begins as `wanted` does before its `*`. */
function isOperation(name: string, wanted: string): boolean {
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted
}

/** @param text in lower case */
function containsText(value: unknown, text: string): boolean {
  if (value === undefined || value === null) return false
  if (typeof value !== 'object') return String(value).toLowerCase().includes(text)
  if (Array.isArray(value)) return value.some((item) => containsText(item, text))
  return Object.entries(value).some(
    ([name, member]) => name.toLowerCase().includes(text) || containsText(member, text),
  )
}

/**
 * A term is a hash of 26 bits of one property of a record. The index stores which blocks have which terms: two
 * properties with one term only cause a block to be read in vain, since its records are compared with the filter.
 */
export type Term = number

/**
 * Terms that are looked up together; each kind is stored separately, so that a search reads only the kind
 * that it needs.
 */
export const termKinds = ['request', 'object', 'other'] as const
export type TermKind = (typeof termKinds)[number]
export type Terms = Readonly<Record<TermKind, readonly Term[]>>

/** Seeds of the hashes, one for each property. */
const seeds = {
  request: 1,
  object: 2,
  principal: 3,
  operation: 4,
  family: 5,
  outcome: 6,
  address: 7,
} as const
const failed = 0x5bd1e995

/** FNV-1a over the bytes of `text`, which is UTF-8 as Latin-1, and a last mix (MurmurHash3). */
function hashText(seed: number, text: string): number {
  let hash = 0x811c9dc5 ^ seed
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash
}

function toTerm(hash: number): Term {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 6
}

/** The properties of a record that have terms; texts are UTF-8 as Latin-1. */
export interface RecordProperties {
  readonly requestId: string
  readonly object: string | undefined
  readonly principal: string
  readonly operation: string
  readonly failed: boolean
  readonly address: string
  /** Unix milliseconds. */
  readonly time: number
}

/** The terms of records one after the other; consecutive records mostly share their properties. */
export class TermMaker {
  #object: string | undefined
  #objectHash = 0
  #principal = ''
  #operation = ''
  #address = ''
  readonly #hashes = { principal: 0, operation: 0, family: 0, address: 0 }

  constructor() {
    this.#setPrincipal('')
    this.#setOperation('')
    this.#setAddress('')
  }

  request({ requestId }: RecordProperties): Term {
    return toTerm(hashText(seeds.request, requestId))
  }

  /** @param add is called for each term */
  object({ object, failed: isFailed }: RecordProperties, add: (term: Term) => void): void {
    if (object === undefined) return
    if (object !== this.#object) {
      this.#object = object
      this.#objectHash = hashText(seeds.object, object)
    }
    add(toTerm(this.#objectHash))
    if (isFailed) add(toTerm(this.#objectHash ^ failed))
  }

  other(record: RecordProperties, add: (term: Term) => void): void {
    if (record.principal !== this.#principal) this.#setPrincipal(record.principal)
    if (record.operation !== this.#operation) this.#setOperation(record.operation)
    if (record.address !== this.#address) this.#setAddress(record.address)
    const { principal, operation, family, address } = this.#hashes
    add(toTerm(principal))
    add(toTerm(operation))
    add(toTerm(family))
    add(toTerm(address))
    add(toTerm(combine(principal, operation)))
    add(toTerm(hashText(seeds.outcome, record.failed ? 'failure' : 'success')))
    if (!record.failed) return
    add(toTerm(principal ^ failed))
    add(toTerm(operation ^ failed))
  }

  #setPrincipal(principal: string): void {
    this.#principal = principal
    this.#hashes.principal = hashText(seeds.principal, principal)
  }

  #setOperation(operation: string): void {
    this.#operation = operation
    this.#hashes.operation = hashText(seeds.operation, operation)
    this.#hashes.family = hashText(seeds.family, toFamily(operation))
  }

  #setAddress(address: string): void {
    this.#address = address
    this.#hashes.address = hashText(seeds.address, address)
  }
}

function combine(principal: number, operation: number): number {
  return Math.imul(principal, 31) ^ operation
}

/** `crypto.` of `crypto.encrypt`. */
function toFamily(operation: string): string {
  return operation.slice(0, operation.indexOf('.') + 1)
}

/** Terms that each matching record has. Time and text have none. */
export function toTerms(filter: SearchFilter): Terms {
  const hash = (seed: number, text: string): number =>
    hashText(seed, Buffer.from(text, 'utf8').toString('latin1'))
  const { requestId, object, principal, operation, outcome, address } = filter
  const terms = { request: [] as Term[], object: [] as Term[], other: [] as Term[] }
  const withOutcome = (value: number): number => (outcome === 'failure' ? value ^ failed : value)
  if (requestId !== undefined) terms.request.push(toTerm(hash(seeds.request, requestId)))
  if (object !== undefined) terms.object.push(toTerm(withOutcome(hash(seeds.object, object))))
  const principalTerm = principal === undefined ? undefined : hash(seeds.principal, principal)
  if (principalTerm !== undefined) terms.other.push(toTerm(withOutcome(principalTerm)))
  if (operation !== undefined && !operation.endsWith('*')) {
    const operationTerm = hash(seeds.operation, operation)
    terms.other.push(toTerm(withOutcome(operationTerm)))
    if (principalTerm !== undefined) terms.other.push(toTerm(combine(principalTerm, operationTerm)))
  } else if (operation?.includes('.') === true)
    terms.other.push(toTerm(hash(seeds.family, toFamily(operation))))
  if (outcome !== undefined) terms.other.push(toTerm(hash(seeds.outcome, outcome)))
  if (address !== undefined) terms.other.push(toTerm(hash(seeds.address, address)))
  return terms
}

const hashEnd = ',"hash":"'.length + 64 + '"}'.length
const timeLength = '2026-11-21T00:00:00.000Z'.length
const beforePrincipal = ',"principal":"'
const prevLength = ',"prev":"'.length + 64 + '"'.length
const beforeSeq = ',"seq":'

/**
 * Reads a line without parsing its JSON: names and values of records have a fixed order, a `"` within a value
 * always follows a backslash, and of the members only `details` holds others, before those that are looked
 * for from the end.
 * @param line UTF-8 as Latin-1
 * @returns undefined for a line that is not written so, or has escapes in these values: see `parseProperties`
 */
export function readProperties(line: string): RecordProperties | undefined {
  const end = line.length - hashEnd
  const prevAt = line.lastIndexOf(',"prev":"', end)
  const principalAt = prevAt + prevLength
  if (prevAt < 0 || !line.startsWith(beforePrincipal, principalAt)) return undefined
  const principal = readText(line, principalAt + beforePrincipal.length)
  const requestAt = line.indexOf(',"request_id":"', principalAt)
  const requestId = requestAt < 0 ? undefined : readText(line, requestAt + ',"request_id":"'.length)
  const isFailed = line.startsWith('"failure"', prevAt - '"failure"'.length)
  const operationAt = line.lastIndexOf('"operation":"', prevAt)
  const operation = operationAt < 0 ? undefined : readText(line, operationAt + '"operation":"'.length)
  const beforeAt = line.lastIndexOf('":"', operationAt - 3)
  const hasObject = line.startsWith(',"object', beforeAt - ',"object'.length)
  const object = hasObject ? readText(line, beforeAt + 3) : ''
  const addressAt = line.indexOf('"client_ip":"')
  const address = addressAt < 0 ? undefined : readText(line, addressAt + '"client_ip":"'.length)
  const time = Date.parse(line.slice(end - 1 - timeLength, end - 1))
  if (principal === undefined || requestId === undefined || operation === undefined) return undefined
  if (object === undefined || address === undefined || Number.isNaN(time)) return undefined
  return {
    requestId,
    object: hasObject ? object : undefined,
    principal,
    operation,
    failed: isFailed,
    address,
    time,
  }
}

/** The text that begins at `from`; undefined when it has an escape. */
function readText(line: string, from: number): string | undefined {
  const text = line.slice(from, line.indexOf('"', from))
  return text.includes('\\') ? undefined : text
}

/** The same by parsing. @returns undefined when the line is not a record */
export function parseProperties(line: string): RecordProperties | undefined {
  const record = parseLine(Buffer.from(line, 'latin1').toString('utf8'))
  const time = Date.parse(String(record?.time))
  if (record === undefined || Number.isNaN(time)) return undefined
  const toText = (value: unknown): string => Buffer.from(String(value ?? ''), 'utf8').toString('latin1')
  return {
    requestId: toText(record.request_id),
    object: record.object === undefined ? undefined : toText(record.object),
    principal: toText(record.principal),
    operation: toText(record.operation),
    failed: record.outcome !== 'success',
    address: toText(record.client_ip),
    time,
  }
}

/** The number and the hash of a record, out of its line. */
export function readPosition(line: string): { readonly seq: number; readonly hash: string } | undefined {
  const at = line.lastIndexOf(beforeSeq, line.length - hashEnd)
  const seq = Number.parseInt(line.slice(at + beforeSeq.length, at + beforeSeq.length + 16), 10)
  const hash = line.slice(-66, -2)
  return at < 0 || !Number.isSafeInteger(seq) || !/^[0-9a-f]{64}$/.test(hash) ? undefined : { seq, hash }
}
