import { resolve } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { UsageError } from '../cli/command.ts'
import { FileRefused, toFileRefused } from '../cli/refused.ts'
import { printable } from '../cli/table.ts'
import { type Header, readHeader, replaceWrappedKey } from '../crypto-files/header.ts'
import { openToChange } from '../crypto-files/open-file.ts'
import { fillFrom } from '../crypto-files/read.ts'
import { replaceHeader } from '../crypto-files/replace-header.ts'
import { isForPolicy, readKeyId } from '../crypto-files/wrapped-key.ts'
import { type KmsContext, kmsVerb } from '../kms/verb.ts'
import { createVersionFinder, type KeyVersion } from './key-version.ts'
import { readRenewedKey } from './renewed-key.ts'

/** Files whose wrapped keys are renewed by one request. */
const filesAtOnce = 100

interface Outcome {
  readonly file: string
  readonly status: 'rewrapped' | 'current' | 'would_rewrap' | 'failed'
  /** The key, where the caller may read about it; else the version that the file names. */
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
  /** undefined: the caller may not read about the key. */
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

/** Rewraps files, a batch of them after the other. What is done with a file does not depend on the others. */
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

  /** @throws StartupError when the service cannot be asked: what was done before stays done, and is told */
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
      throw new FileRefused('it is encrypted for a policy, which is not rewrapped: its master key renews')
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

  /** Reports what is wrong with one file, and goes on with the next one. */
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
  summary: 'renews the wrapped keys of encrypted files under the newest versions of their keys',
  about: `Only the header of a file changes: nothing is decrypted here, and the service alone opens the wrapped key. Takes the
right encrypt on the key, not decrypt. Files that are under the newest version stay as they are. A header that lies in
the first 512 bytes and keeps its length (symmetric keys) is written over the old one; other files are written anew
beside, with their mode and owner, and take the name. After a crash the file has the one header or the other.
Files that are encrypted for a policy are refused: the master key of an attribute-based pair renews.
What is wrong with a file is told, and the others follow; then the exit code is 1.`,
  examples: ['warder crypto rewrap *.warder', 'warder crypto rewrap --dry-run --json /mnt/backup/*.warder'],
  interrupted: 'files that were rewrapped stay so, the others are as they were',
  options: {
    'dry-run': { type: 'flag', help: 'tells what would be done, and changes nothing' },
  },
  parse({ 'dry-run': dryRun }, names) {
    if (names.length === 0) throw new UsageError('say which files')
    if (names.includes('')) throw new UsageError('the name of a file is not empty')
    if (names.includes('-')) throw new UsageError('files are changed where they are: - is not one')
    const files = [...new Map(names.map((name) => [resolve(name), name])).values()]
    return (context) => new Rewrapping(context, dryRun).run(files)
  },
})
