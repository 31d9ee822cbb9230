import { basename } from 'node:path'
import type { KmsClient } from '@warder/client'
import { UsageError } from '../cli/command.ts'
import { requireOneName, type ValuesOf } from '../cli/options.ts'
import { FileRefused, toFileRefused } from '../cli/refused.ts'
import { printable } from '../cli/table.ts'
import { requireAbsent } from '../crypto-files/atomic-file.ts'
import { decryptFile, encryptFile } from '../crypto-files/encrypt-file.ts'
import { isForPolicy, readKeyId, type WrappedKey, wrappingContext } from '../crypto-files/wrapped-key.ts'
import { keyOption, readKid } from '../kms/key-argument.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { type KmsContext, kmsVerb } from '../kms/verb.ts'
import { isSameKey, type Protection, readProtection, selectProtection } from './key-use.ts'

/** Suffix of an encrypted file's name, unless another is given. */
const suffix = '.warder'

const nothingLeft = 'no output was left behind'

interface Files {
  /** `-`: standard input. */
  readonly input: string
  /** `-`: standard output. */
  readonly output: string
  readonly overwrite: boolean
}

const pipe = '-'

const fileOptions = {
  output: { type: 'text', value: 'OUT', help: 'file to write; - is standard output' },
  force: { type: 'flag', help: 'replaces a file that is there' },
} as const

/** `FILE [--output OUT] [--force]`. @throws UsageError, FileRefused */
function readFiles(
  { output, force: overwrite }: ValuesOf<typeof fileOptions>,
  names: readonly string[],
  defaultOutput: (input: string) => string,
): Files {
  const input = requireOneName(names, 'file')
  if (input === '' || output === '') throw new UsageError('the name of a file is not empty')
  const files = { input, output: output ?? (input === pipe ? pipe : defaultOutput(input)), overwrite }
  // Looked at again when the output is written; now, so that nobody logs in for nothing.
  if (files.output !== pipe && !overwrite) requireAbsent(files.output)
  return files
}

/** The places as bytes are read and written there. */
function toStreams(
  { input, output, overwrite }: Files,
  { input: stdin, writeOutput, progress, signal }: KmsContext,
) {
  return {
    input: input === pipe ? stdin : input,
    output: output === pipe ? writeOutput : output,
    ...{ overwrite, signal },
    onProgress: progress,
  }
}

/** Of a pipe nothing is told: what comes out is the output. */
function showOutcome(files: Files, { show }: KmsContext, document: unknown, line: string): void {
  if (files.output !== pipe) show(document, [line])
}

function removeSuffix(input: string): string {
  if (input.endsWith(suffix) && basename(input) !== suffix) return input.slice(0, -suffix.length)
  throw new UsageError(`the name does not end with ${suffix}: say --output OUT`)
}

const forPolicy: Protection = { alg: 'ABE', enc: 'A256GCM' }

/** @throws StartupError without a user key; as the service refuses */
async function decryptForPolicy(
  kms: KmsClient,
  wrapped: WrappedKey,
  userKey: string | undefined,
  input: string,
): Promise<Buffer> {
  if (userKey === undefined)
    throw new FileRefused(printable(`${input} is encrypted for a policy: name your user key, --key KEY`))
  const { data } = await withKeyErrors('user key', userKey, () =>
    kms.call('crypto.decrypt', { body: { ...wrapped, kid: userKey } }),
  )
  return Buffer.from(data, 'base64url')
}

async function withFileErrors<R>(
  { input }: Files,
  { signal }: KmsContext,
  act: () => Promise<R>,
): Promise<R> {
  try {
    return await act()
  } catch (error) {
    // An interruption is reported once, by its caller.
    throw signal.aborted ? error : toFileRefused(error, input === pipe ? 'standard input' : input)
  }
}

export const encryptVerb = kmsVerb({
  name: 'encrypt',
  words: 'FILE',
  summary: `encrypts a file of any size, into FILE${suffix} unless --output names another`,
  about: `The file is encrypted here, in pieces, under a data key of its own; the service encrypts that data key with KEY and
sees nothing of the file. Takes the right encrypt on KEY (a symmetric one, or an RSA pair: its public half is enough).
The output appears whole or not at all, readable for you alone; a file that has its name stays, unless --force is
said. FILE stays as it is: remove it yourself. FILE may be - for standard input; then the output goes to
standard output, unless --output names a file. Memory does not grow with the input.
docs/reference/file-format.md describes every byte.`,
  examples: [
    'warder crypto encrypt report.pdf --key KEY',
    'warder crypto encrypt backup.tar --key KEY --output /mnt/backup/monday.warder --force',
    'tar c docs | warder crypto encrypt - --key KEY > docs.tar.warder',
    "warder crypto encrypt report.pdf --key PUBLIC_KEY --policy 'Team::blue || Level::high'",
  ],
  interrupted: nothingLeft,
  readsInput: ([file]) => file === pipe,
  options: {
    key: keyOption,
    ...fileOptions,
    alg: {
      type: 'text',
      value: 'ALG',
      help: `how KEY is used: A256GCM, A192GCM, A128GCM, RSA-OAEP-256 or RSA-OAEP (default: as KEY is; to be
said for keys that you may use but not read about, if they are not A256GCM)`,
    },
    policy: {
      type: 'text',
      value: 'POLICY',
      help: `who may read it, where KEY is the public key of an attribute-based pair:
'Team::blue && Level::low' (see warder keys abe create --help)`,
    },
  },
  parse(values, names) {
    const kid = readKid(values.key)
    const asked = readProtection(values.alg)
    const { policy } = values
    if (policy !== undefined && asked !== undefined)
      throw new UsageError('--policy and --alg exclude each other')
    const files = readFiles(values, names, (input) => `${input}${suffix}`)
    return async (context) => {
      const { kms } = context
      const { bytes } = await withFileErrors(files, context, () =>
        encryptFile(toStreams(files, context), async (dataKey) => {
          const { alg, enc } = policy === undefined ? await selectProtection(kms, kid, asked) : forPolicy
          const data = Buffer.from(dataKey.buffer, dataKey.byteOffset, dataKey.byteLength).toString(
            'base64url',
          )
          const wrapped = await withKeyErrors('key', kid, () =>
            kms.call('crypto.encrypt', {
              body: { kid, alg, enc, data, aad: wrappingContext, ...(policy !== undefined && { policy }) },
            }),
          )
          return { ...wrapped, aad: wrappingContext }
        }),
      )
      const document = { input: files.input, output: files.output, bytes, key: kid }
      const done = `${bytes} bytes encrypted with key ${kid}`
      showOutcome(files, context, document, printable(`${files.output}  written, ${done}`))
      return 0
    }
  },
})

export const decryptVerb = kmsVerb({
  name: 'decrypt',
  words: 'FILE',
  summary: `decrypts a file that warder crypto encrypt wrote, into FILE without ${suffix} unless --output names another`,
  about: `Takes the right decrypt on the key that the file names. The output appears when every byte was checked, and not at
all if the file was changed, cut, added to or put together from others. It is readable for you alone.
To standard output (FILE or OUT is -) each part of 1 MiB goes out once it was checked: what came out counts only when
the exit code is 0, for the input may have been cut.`,
  examples: [
    `warder crypto decrypt report.pdf${suffix}`,
    `warder crypto decrypt monday.warder --key KEY --output backup.tar`,
    'set -o pipefail; warder crypto decrypt - < docs.tar.warder | tar x',
  ],
  interrupted: nothingLeft,
  readsInput: ([file]) => file === pipe,
  options: {
    ...fileOptions,
    key: {
      type: 'text',
      value: 'KEY',
      help: `only this key may have encrypted it; else it may be any that you may decrypt with, whoever
chose it. Of a file for a policy: your user key, which must be said`,
    },
  },
  parse(values, names) {
    const only = values.key === undefined ? undefined : readKid(values.key)
    const files = readFiles(values, names, removeSuffix)
    return async (context) => {
      const { kms } = context
      const { bytes, kid } = await withFileErrors(files, context, () =>
        decryptFile(toStreams(files, context), async (wrapped) => {
          const kid = readKeyId(wrapped)
          if (isForPolicy(wrapped)) return decryptForPolicy(kms, wrapped, only, files.input)
          if (only !== undefined && !(await isSameKey(kms, kid, only))) {
            throw new FileRefused(
              printable(`${files.input} is encrypted with another key, ${kid}: leave --key out to accept it`),
            )
          }
          const { data } = await withKeyErrors(
            `the key of ${files.input === pipe ? 'the input' : files.input},`,
            kid,
            () => kms.call('crypto.decrypt', { body: wrapped }),
          )
          return Buffer.from(data, 'base64url')
        }),
      )
      const document = { input: files.input, output: files.output, bytes, key: kid }
      const done = `${bytes} bytes decrypted with key ${kid}`
      showOutcome(files, context, document, printable(`${files.output}  written, ${done}`))
      return 0
    }
  },
})
