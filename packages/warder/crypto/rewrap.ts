import { resolve } from 'node:path'
import { StartupError } from '@warder/base'
import { ClientError, type KmsClient, type Reply } from '@warder/client'
import { printable, UsageError } from '@warder/command-line'
import { FileRefused, toFileRefused } from '@warder/command-line/files'
import { type KmsContext, kmsVerb, withKeyErrors } from '@warder/command-line/kms'
import { type Header, readHeader, replaceWrappedKey } from '../crypto-files/header.ts'
import { openToChange } from '../crypto-files/open-file.ts'
import { fillFrom } from '../crypto-files/read.ts'
import { replaceHeader } from '../crypto-files/replace-header.ts'
import {
  isForPolicy,
  readKeyId,
  readProtectedHeader,
  toWrappedKey,
  type WrappedKey,
} from '../crypto-files/wrapped-key.ts'

/** Number of files per request. */
const filesAtOnce = 100

interface Outcome {
  readonly file: string
  readonly status: 'rewrapped' | 'current' | 'would_rewrap' | 'failed'
  /** The key, if the caller may read its attributes; else the version in the file. */
  readonly key?: string
  readonly version?: number
  readonly newest_version?: number
  readonly error?: string
}

/** A file whose header was read. */
interface Found {
  readonly path: string
  readonly size: number
  readonly header: Header
  readonly kid: string
  /** undefined: the caller may not read the attributes of the key. */
  readonly keyVersion: KeyVersion | undefined
}

function formatOutcome({ file, status, key, version, newest_version: newest }: Outcome): string {
  const from = version === undefined || newest === undefined ? '' : `version ${version} to ${newest} of `
  const what = {
    rewrapped: `rewrapped, ${from}key ${key}`,
    would_rewrap: `would be rewrapped, ${from}key ${key}`,
    current: `already under ${newest === undefined ? 'the newest version' : `version ${newest}`} of key ${key}`,
    failed: '',
  }[status]
  return printable(`${file}  ${what}`)
}

function describeVersion({ kid, keyVersion }: Pick<Found, 'kid' | 'keyVersion'>) {
  if (keyVersion === undefined) return { key: kid }
  return { key: keyVersion.key, version: keyVersion.version, newest_version: keyVersion.newest.version }
}

/** Rewraps files in batches. Each file is processed independently. */
class Rewrapping {
  readonly outcomes: Outcome[] = []
  readonly #context: KmsContext
  readonly #dryRun: boolean
  readonly #findVersion: (kid: string) => Promise<KeyVersion | undefined>
  #doneBytes = 0
  #allBytes = 0

  constructor(context: KmsContext, dryRun: boolean) {
    this.#context = context
    this.#dryRun = dryRun
    this.#findVersion = createVersionFinder(context.kms)
  }

  /** @throws StartupError when the service cannot be reached; finished files stay rewrapped and are shown */
  async run(files: readonly string[]): Promise<number> {
    const { show } = this.#context
    try {
      for (let at = 0; at < files.length; at += filesAtOnce)
        await this.#runBatch(files.slice(at, at + filesAtOnce))
    } finally {
      const told = this.outcomes.filter(({ status }) => status !== 'failed')
      show({ files: this.outcomes }, told.map(formatOutcome))
    }
    return this.outcomes.some(({ status }) => status === 'failed') ? 1 : 0
  }

  async #runBatch(files: readonly string[]): Promise<void> {
    const found: Found[] = []
    for (const path of files) {
      this.#context.signal.throwIfAborted()
      await this.#attempt(path, async () => {
        const file = await this.#find(path)
        this.#allBytes += file.size
        if (file.keyVersion?.newest.kid === file.kid) this.#settle(file, 'current')
        else if (this.#dryRun) this.#settle(file, 'would_rewrap')
        else found.push(file)
      })
    }
    if (found.length === 0) return
    const operations = found.map(({ header }) => ({ op: 'rewrap', ...header.wrapped }))
    const { results: answers } = await this.#context.kms.call('crypto.batch', { body: { operations } })
    for (const [index, file] of found.entries()) {
      this.#context.signal.throwIfAborted()
      await this.#attempt(file.path, async () => {
        const next = await readRenewedKey(file.header.wrapped, answers[index])
        if (next.kid === file.kid) this.#settle(file, 'current')
        else await this.#replace(file, replaceWrappedKey(file.header, next.wrapped))
      })
    }
  }

  async #find(path: string): Promise<Found> {
    await using file = await openToChange(path)
    const { size } = await file.stat()
    const header = await readHeader(fillFrom(file))
    if (isForPolicy(header.wrapped))
      throw new FileRefused('it is encrypted for a policy: use warder keys abe rekey instead')
    const kid = readKeyId(header.wrapped)
    return { path, size, header, kid, keyVersion: await this.#findVersion(kid) }
  }

  async #replace(file: Found, header: Header): Promise<void> {
    const { signal, progress } = this.#context
    const onProgress = (done: number): void => progress(this.#doneBytes + done, this.#allBytes)
    await replaceHeader(file.path, file.header, header, { signal, onProgress })
    this.#settle(file, 'rewrapped')
  }

  #settle(file: Found, status: Outcome['status']): void {
    this.#doneBytes += file.size
    this.#context.progress(this.#doneBytes, this.#allBytes)
    this.outcomes.push({ file: file.path, status, ...describeVersion(file) })
  }

  /** Reports the error of one file and continues with the next one. */
  async #attempt(path: string, act: () => Promise<void>): Promise<void> {
    const { signal, note } = this.#context
    try {
      await act()
    } catch (thrown) {
      const error = toFileRefused(thrown, path)
      if (signal.aborted || !(error instanceof StartupError)) throw error
      const sentence = error.message.startsWith(path) ? error.message : `${path}: ${error.message}`
      note(printable(sentence))
      this.outcomes.push({ file: path, status: 'failed', error: sentence })
    }
  }
}

export const rewrapVerb = kmsVerb({
  name: 'rewrap',
  words: 'FILES…',
  summary: 'Rewrap the data keys of encrypted files with the newest versions of their keys',
  about: `Changes only the header of a file: nothing is decrypted locally, and only the service unwraps the data key. Requires the
right encrypt on the key, not decrypt. Files that use the newest version are not changed. A header of the same length
within the first 512 bytes (symmetric keys) is overwritten in place; other files are copied, with their mode and owner,
and replaced. After a crash a file has either the old or the new header. Files with a policy are refused: use warder
keys abe rekey. If a file fails, its error is shown, the others are processed, and the exit code is 1.`,
  examples: ['warder crypto rewrap *.warder', 'warder crypto rewrap --dry-run --json /mnt/backup/*.warder'],
  interrupted: 'finished files are rewrapped, the others are unchanged',
  options: {
    'dry-run': { type: 'flag', help: 'shows the changes without making them' },
  },
  parse({ 'dry-run': dryRun }, names) {
    if (names.length === 0) throw new UsageError('name at least one file')
    if (names.includes('')) throw new UsageError('a file name must not be empty')
    if (names.includes('-')) throw new UsageError('files are changed in place: - is not supported')
    const files = [...new Map(names.map((name) => [resolve(name), name])).values()]
    return (context) => new Rewrapping(context, dryRun).run(files)
  },
})

/** The key and version of an id. Versions are counted from 1. */
interface KeyVersion {
  readonly key: string
  readonly version: number
  readonly newest: { readonly version: number; readonly kid: string }
}

/**
 * Creates a cached lookup of key versions by id.
 * @returns a function that returns undefined for a key that does not exist or whose attributes are not readable
 */
function createVersionFinder(kms: KmsClient): (kid: string) => Promise<KeyVersion | undefined> {
  const known = new Map<string, Promise<KeyVersion | undefined>>()
  return (kid) => {
    const found = known.get(kid) ?? findVersion(kms, kid)
    known.set(kid, found)
    return found
  }
}

async function findVersion(kms: KmsClient, kid: string): Promise<KeyVersion | undefined> {
  const describe = (id: string) =>
    withKeyErrors('key', id, () => kms.call('crypto.keys.get', { path: { kid: id } }))
  try {
    const named = await describe(kid)
    const { version_of: whole } = named
    const key = whole === undefined ? named : await describe(whole)
    return {
      key: key.kid,
      // For the id of a key, which is also that of version 1, the service returns the newest version.
      version: whole === undefined ? 1 : named.version,
      newest: { version: key.version, kid: key.version_kid ?? key.kid },
    }
  } catch (error) {
    const { cause } = error as Error
    if (cause instanceof ClientError && (cause.kind === 'forbidden' || cause.kind === 'not_found'))
      return undefined
    throw error
  }
}

type Answer = Reply<'crypto.batch'>['results'][number]

/** A data key that is wrapped with the newest version of its key. */
interface RenewedKey {
  readonly wrapped: WrappedKey
  /** The version. */
  readonly kid: string
}

/**
 * Reads the reply of the service to `rewrap` of a wrapped data key.
 * @throws StartupError when the service refused; FileRefused for a reply with another algorithm
 */
function readRenewedKey(before: WrappedKey, answer: Answer | undefined): Promise<RenewedKey> {
  const was = readProtectedHeader(before)
  return withKeyErrors('key', was.kid, async () => {
    if (answer === undefined) throw new FileRefused('the reply of the service does not contain this file')
    if ('error' in answer) {
      const { error: kind, description, status } = answer
      throw new ClientError({ kind, description, status })
    }
    const wrapped = toWrappedKey(answer.result)
    const is = readProtectedHeader(wrapped)
    if (is.alg !== was.alg || is.enc !== was.enc)
      throw new FileRefused('the service wrapped the data key with another algorithm')
    return { wrapped, kid: is.kid }
  })
}
