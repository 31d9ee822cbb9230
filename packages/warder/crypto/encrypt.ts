import { basename } from 'node:path'
import type { KmsClient } from '@warder/client'
import { printable, requireOneName, UsageError, type ValuesOf } from '@warder/command-line'
import { FileRefused, toFileRefused } from '@warder/command-line/files'
import { type KmsContext, keyOption, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { requireAbsent } from '../crypto-files/atomic-file.ts'
import { decryptFile, encryptFile } from '../crypto-files/encrypt-file.ts'
import { isForPolicy, readKeyId, type WrappedKey, wrappingContext } from '../crypto-files/wrapped-key.ts'
import { isSameKey, type Protection, readProtection, selectProtection } from './key-use.ts'

/** Suffix of encrypted files, unless --output is given. */
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
  force: { type: 'flag', help: 'replaces an existing file' },
} as const

/** `FILE [--output OUT] [--force]`. @throws UsageError, FileRefused */
function readFiles(
  { output, force: overwrite }: ValuesOf<typeof fileOptions>,
  names: readonly string[],
  defaultOutput: (input: string) => string,
): Files {
  const input = requireOneName(names, 'file')
  if (input === '' || output === '') throw new UsageError('a file name must not be empty')
  const files = { input, output: output ?? (input === pipe ? pipe : defaultOutput(input)), overwrite }
  // Checked early, before the login, and again when the output is written.
  if (files.output !== pipe && !overwrite) requireAbsent(files.output)
  return files
}

/** Replaces `-` by the standard streams. */
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

/** Shows the outcome, except when standard output is the output. */
function showOutcome(files: Files, { show }: KmsContext, document: unknown, line: string): void {
  if (files.output !== pipe) show(document, [line])
}

function removeSuffix(input: string): string {
  if (input.endsWith(suffix) && basename(input) !== suffix) return input.slice(0, -suffix.length)
  throw new UsageError(`the name does not end with ${suffix}: use --output OUT`)
}

const forPolicy: Protection = { alg: 'ABE', enc: 'A256GCM' }

/** @throws StartupError without a user key, or when the service refuses */
async function decryptForPolicy(
  kms: KmsClient,
  wrapped: WrappedKey,
  userKey: string | undefined,
  input: string,
): Promise<Buffer> {
  if (userKey === undefined)
    throw new FileRefused(printable(`${input} is encrypted for a policy: give your user key with --key KEY`))
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
    // The caller reports an interruption.
    throw signal.aborted ? error : toFileRefused(error, input === pipe ? 'standard input' : input)
  }
}

export const encryptVerb = kmsVerb({
  name: 'encrypt',
  words: 'FILE',
  summary: `Encrypt a file of any size into FILE${suffix}, or into --output`,
  about: `The file is encrypted locally, in chunks, with its own data key; the service only wraps that data key with KEY and never
sees the file. Requires the right encrypt on KEY, which is a symmetric key or an RSA pair (its public half is enough).
The output appears complete or not at all, with mode 0600; an existing file is kept unless --force is given. FILE is
not removed. With - as FILE, standard input is encrypted to standard output, unless --output names a file. The memory
use does not depend on the size. For the file format see docs/reference/file-format.md.`,
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
      help: `algorithm: A256GCM, A192GCM, A128GCM, RSA-OAEP-256 or RSA-OAEP (default: that of KEY;
required without the right getattributes, unless it is A256GCM)`,
    },
    policy: {
      type: 'text',
      value: 'POLICY',
      help: `access policy, if KEY is the public key of an attribute-based pair:
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
  summary: `Decrypt a file of warder crypto encrypt into FILE without ${suffix}, or into --output`,
  about: `Requires the right decrypt on the key that the file names. The output, with mode 0600, appears only after every byte was
verified, and not at all if the file was changed, truncated, extended or combined from others. With standard output
(FILE or OUT is -) each part of 1 MiB is written after its verification: use the output only if the exit code is 0,
because the input may be truncated.`,
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
      help: `accepts only this key (default: any key that you may decrypt with);
for a file with a policy: your user key, which is required`,
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
              printable(`${files.input} is encrypted with another key, ${kid}: omit --key to accept it`),
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
