import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { appendFileSync, createReadStream, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describeWriteError, StartupError } from '@warder/base'
import { type Prompter, UsageError } from '@warder/command-line'
import { computeFingerprint } from '../installation/signing-key.ts'
import { BackupRefused } from './lines.ts'

// Any holder of a public key can encrypt a backup for it. So a backup is trusted only if a known installation has signed it.

/** Decides on the sender of a backup before any of it is decrypted; undefined = the backup is not signed. */
export type RequireSender = (sender: KeyObject | undefined) => Promise<void>

export const senderOptions = {
  from: {
    type: 'list',
    value: 'FILE|SHA256:…',
    help: 'backup-signing.pub of the installation that made the backup, or its fingerprint; the sender is remembered; repeatable',
  },
  'accept-new-sender': {
    type: 'flag',
    help: 'trusts and remembers the sender of the backup if no sender is known yet',
  },
  'accept-unsigned': {
    type: 'flag',
    help: 'accepts an unsigned backup of an earlier version; any holder of its public key or passphrase could have written it',
  },
} as const

interface SenderChoice {
  readonly from: readonly string[]
  readonly acceptNew: boolean
  readonly acceptUnsigned: boolean
}

interface SenderContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly prompter: Prompter
  /** Key of the installation on this machine, whose backups need no option. */
  readonly own?: KeyObject | undefined
  say(line: string): void
}

/** @throws UsageError when the options contradict each other; StartupError for a file without such a key */
export function requireSender(choice: SenderChoice, context: SenderContext): RequireSender {
  const { from, acceptNew, acceptUnsigned } = choice
  if (acceptUnsigned && (from.length > 0 || acceptNew))
    throw new UsageError('--accept-unsigned excludes --from and --accept-new-sender: they demand a signature')
  if (from.length > 0 && acceptNew) throw new UsageError('--from and --accept-new-sender exclude each other')
  const named = from.map(readFingerprint)
  const known = new KnownSenders(context.env)
  return async (sender) => {
    if (sender === undefined) return requireAccepted(acceptUnsigned, context)
    const found = computeFingerprint(sender)
    if (named.length > 0) {
      if (!named.includes(found))
        throw new BackupRefused(`the backup is signed by ${found}, and --from names ${named.join(', ')}`)
      known.remember(found, { mayFail: true })
      return
    }
    if (context.own !== undefined && computeFingerprint(context.own) === found) return
    const pinned = known.list()
    if (pinned.includes(found)) return
    if (pinned.length > 0 || context.own !== undefined)
      throw new BackupRefused(
        `the backup is signed by ${found}, which is not a known sender: if the installation that made the backup has this key in backup-signing.pub, name it with --from ${found}`,
      )
    await acceptFirst(found, acceptNew, context)
    known.remember(found, { mayFail: false })
    context.say(`sender      ${found} is remembered in ${known.path}`)
  }
}

function requireAccepted(acceptUnsigned: boolean, { say }: SenderContext): void {
  if (!acceptUnsigned)
    throw new BackupRefused(
      'the backup is not signed: an earlier version made it, or a holder of only the public key or the passphrase did, who then chose its settings, users and rights. If it was never outside of your control, restore it with --accept-unsigned',
    )
  say('sender      unknown: the backup is not signed; --accept-unsigned accepted it')
}

async function acceptFirst(found: string, acceptNew: boolean, { prompter }: SenderContext): Promise<void> {
  if (acceptNew) return
  if (!prompter.interactive)
    throw new BackupRefused(
      `the backup is signed by ${found}, and no sender is known yet: compare that with the fingerprint that warder backup printed, or with backup-signing.pub, and name it with --from ${found}; --accept-new-sender trusts it without comparison`,
    )
  const answer = await prompter.ask(
    `The backup is signed by ${found}. No sender is known yet.\nIs this the fingerprint that warder backup printed when the backup was made? [y/N] `,
  )
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new BackupRefused('the sender was not accepted: nothing was changed')
}

const fingerprintForm = /^SHA256:[A-Za-z0-9_-]{43}$/

function readFingerprint(text: string): string {
  if (fingerprintForm.test(text)) return text
  if (text.startsWith('SHA256:'))
    throw new UsageError(
      `--from ${text} is not a fingerprint: expected SHA256: and 43 characters of base64url`,
    )
  let key: KeyObject
  try {
    key = createPublicKey(readFileSync(text))
  } catch (error) {
    throw new StartupError(
      `${text} contains no public key: ${error instanceof Error ? error.message : error}; --from expects backup-signing.pub of an installation`,
    )
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw new StartupError(
      `${text} contains a key of type ${key.asymmetricKeyType}; backups are signed with Ed25519`,
    )
  return computeFingerprint(key)
}

/** Trusted senders, one per line, in the configuration folder of the user (XDG). */
class KnownSenders {
  /** undefined = there is no such folder. */
  readonly path: string | undefined

  constructor({ XDG_CONFIG_HOME: xdg, HOME: home }: SenderContext['env']) {
    const folder =
      xdg !== undefined && xdg !== ''
        ? xdg
        : home !== undefined && home !== ''
          ? join(home, '.config')
          : undefined
    this.path = folder === undefined ? undefined : join(folder, 'warder', 'backup-senders')
  }

  list(): readonly string[] {
    if (this.path === undefined || !existsSync(this.path)) return []
    return readFileSync(this.path, 'utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => fingerprintForm.test(line))
  }

  /** @throws StartupError when it cannot be written, unless it may fail; the sender must then be named each time */
  remember(found: string, { mayFail }: { readonly mayFail: boolean }): void {
    try {
      if (this.path === undefined) throw new Error('neither HOME nor XDG_CONFIG_HOME is set')
      if (this.list().includes(found)) return
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
      appendFileSync(this.path, `${found}\n`, { mode: 0o600, flush: true })
    } catch (error) {
      if (mayFail) return
      const why = this.path === undefined ? (error as Error).message : describeWriteError(error, this.path)
      throw new StartupError(
        `the sender of the backup cannot be remembered: ${why}; name it with --from ${found}`,
      )
    }
  }
}

/** Standard output of this process, with the bytes that were written. */
interface StandardOutput {
  readonly bytes: number
  /** SHA-256 of them, in lower-case hexadecimal digits. */
  digest(): string
  /** @throws StartupError when the reader has closed it */
  write(bytes: Uint8Array): Promise<void>
}

export function standardOutput(): StandardOutput {
  const hash = createHash('sha256')
  let sentBytes = 0
  return {
    get bytes() {
      return sentBytes
    },
    digest: () => hash.copy().digest('hex'),
    write: (bytes) =>
      new Promise((resolve, reject) => {
        process.stdout.write(bytes, (error) => {
          if (error)
            return reject(
              new StartupError(
                `standard output was closed (${error.message}): the sent backup is incomplete`,
              ),
            )
          sentBytes += bytes.length
          hash.update(bytes)
          resolve()
        })
      }),
  }
}

/**
 * Sends a complete backup, from an offset on.
 * @throws StartupError when it does not exist, is shorter, or the output is closed
 */
export async function sendFrom(
  path: string,
  from: number,
  output: StandardOutput,
  signal?: AbortSignal,
): Promise<void> {
  if (!existsSync(path))
    throw new StartupError(
      `${path} does not exist: the other side has part of a backup that is gone; start a new one`,
    )
  const { size } = statSync(path)
  if (from > size)
    throw new StartupError(
      `${path} has ${size} bytes, but the other side has ${from}: that is another backup`,
    )
  if (from === size) return
  try {
    for await (const chunk of createReadStream(path, { start: from })) {
      signal?.throwIfAborted()
      await output.write(chunk)
    }
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    throw new StartupError(
      `${error.message}; ${path} is complete, resume with --from and the byte count of the other side`,
    )
  }
}
