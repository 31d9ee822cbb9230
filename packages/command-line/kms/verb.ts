import type { Readable } from 'node:stream'
import { type AuthClient, ClientError, type KmsClient } from '@warder/client'
import { UsageError, type Values } from '../commands/options.ts'
import { defineVerb, type Verb } from '../commands/verbs.ts'
import type { ServiceEndpoints } from './service-endpoints.ts'

/** Context of a verb, after authentication. */
export interface KmsContext {
  readonly kms: KmsClient
  /**
   * Opens a client of the authentication service with the same session; the command closes it.
   * @throws StartupError when its address is not known, or the credentials are no session
   */
  openAuth(): AuthClient
  /** Addresses of the services, for other protocols. */
  readonly endpoints: ServiceEndpoints
  /** Environment of the command. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted by a stop signal; the verb must leave nothing behind. */
  readonly signal: AbortSignal
  /** Prints lines of text, or with `--json` one document. */
  show(document: unknown, lines: readonly string[]): void
  /** Prints a note to standard error. */
  note(line: string): void
  /** Asks for confirmation, unless `--yes` is given. @throws StartupError when it is not confirmed */
  confirm(question: string): Promise<void>
  /** Shows progress on a terminal. */
  progress(done: number, size: number): void
  /** Reads standard input to its end. @throws StartupError when there are more than `maxBytes` bytes */
  readInput(maxBytes: number): Promise<Buffer>
  /** Standard input as a stream. */
  readonly input: Readable
  /** Writes bytes to standard output. */
  writeOutput(bytes: Uint8Array): Promise<void>
}

/** A verb of a command of the key management service. */
export interface KmsVerb extends Verb {
  readonly about: string
  /** Whether it reads standard input, which then cannot contain a password or a token. */
  readonly readsInput?: (names: readonly string[]) => boolean
  /** Message after an interruption. */
  readonly interrupted?: string
  /**
   * Checks the arguments before the login. @returns a function that executes the verb and returns the exit code
   * @throws UsageError
   */
  parse(values: Values, names: readonly string[]): (context: KmsContext) => Promise<number>
}

export const kmsVerb = defineVerb<KmsVerb>()

/** Aliases of the caller by the names of the arguments that are parsed; `names` collects those that may be aliases. */
let parsing: { readonly names: Set<string>; readonly aliases: ReadonlyMap<string, string> } | undefined

/** Ids that the service creates are UUIDs; an alias has no such form if its owner can avoid it. */
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** What can follow `alias/`, for an alias of the caller. */
const aliasName = /^(?!alias\/)[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/

/**
 * Reads the id or alias of a key from an argument: `alias/invoices`, or `invoices` if the caller has such an alias.
 * @throws UsageError for an invalid one
 */
export function readKid(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new UsageError(`'${text}' is not the id of a key: see warder keys list`)
  if (parsing === undefined || uuid.test(text) || !aliasName.test(text)) return text
  parsing.names.add(text)
  return parsing.aliases.get(text) ?? text
}

type ParsedVerb = ReturnType<KmsVerb['parse']>

/**
 * Parses the arguments of a verb before the login; after it, names that are aliases of the caller are read as such. An alias
 * comes before an id of the same text, because every user can choose ids, but only the caller chooses these aliases.
 * @throws UsageError
 */
export function parseKmsVerb(verb: KmsVerb, values: Values, names: readonly string[]): ParsedVerb {
  const parse = (aliases: ReadonlyMap<string, string>): { act: ParsedVerb; found: ReadonlySet<string> } => {
    const found = new Set<string>()
    parsing = { names: found, aliases }
    try {
      return { act: verb.parse(values, names), found }
    } finally {
      parsing = undefined
    }
  }
  const { act, found } = parse(new Map())
  if (found.size === 0) return act
  return async (context) => {
    const aliases = await findAliases(context.kms, [...found])
    return aliases.size === 0 ? act(context) : parse(aliases).act(context)
  }
}

async function findAliases(kms: KmsClient, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const aliases = new Map<string, string>()
  for (const name of names) {
    try {
      await kms.call('crypto.aliases.get', { path: { alias: name } })
      aliases.set(name, `alias/${name}`)
    } catch (error) {
      // Not an alias of the caller. The call that uses the id reports other problems.
      const { status = 500 } = error instanceof ClientError ? error : {}
      if (status >= 500) throw error
    }
  }
  return aliases
}

/** `--key KEY` of verbs that use one key. */
export const keyOption = {
  type: 'text',
  value: 'KEY',
  required: 'name the key: --key KEY (see warder keys list)',
  help: 'id or alias of the key',
} as const
