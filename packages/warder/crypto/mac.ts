import { StartupError } from '@warder/base'
import { exitNotValid, printable, requireOneName, UsageError } from '@warder/command-line'
import { FileRefused, toFileRefused } from '@warder/command-line/files'
import { type KmsContext, keyOption, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { openFile } from '../crypto-files/open-file.ts'
import { maxDataBytes } from './data.ts'
import { selectMac } from './key-use.ts'

const mebibytes = maxDataBytes / 1024 / 1024

async function readSmallFile(path: string): Promise<Buffer> {
  try {
    await using file = await openFile(path)
    const { size } = await file.stat()
    if (size > maxDataBytes) {
      throw new FileRefused(
        `${path} is larger than ${mebibytes} MiB, the limit for a MAC: use warder crypto sign`,
      )
    }
    return await file.readFile()
  } catch (error) {
    throw toFileRefused(error, path)
  }
}

async function readData(input: string, { readInput }: KmsContext): Promise<string> {
  const bytes = input === '-' ? await readInput(maxDataBytes) : await readSmallFile(input)
  return bytes.toString('base64url')
}

export const macVerb = kmsVerb({
  name: 'mac',
  words: 'FILE',
  summary: 'Compute or verify the HMAC of a file',
  about: `The file is sent to the service, up to ${mebibytes} MiB; for larger files use warder crypto sign. Use - as FILE for
standard input. The MAC is printed as base64url. Requires the right mac on KEY.`,
  examples: [
    'warder crypto mac config.json --key KEY',
    'warder crypto mac config.json --key KEY --verify "$MAC"',
  ],
  options: {
    key: keyOption,
    verify: {
      type: 'text',
      value: 'MAC',
      help: 'verifies this MAC instead: exit code 0 if it is valid, 3 if not',
    },
    alg: {
      type: 'text',
      value: 'ALG',
      help: 'HS256, HS384 or HS512; required without the right getattributes',
    },
  },
  readsInput: (names) => names.includes('-'),
  parse({ key, verify: given, alg: asked }, names) {
    const kid = readKid(key)
    if (given !== undefined && !/^[A-Za-z0-9_-]+$/.test(given))
      throw new UsageError('--verify must be a MAC in base64url')
    const input = requireOneName(names, 'file')
    return async (context) => {
      const { kms, show } = context
      const data = await readData(input, context)
      const alg = await selectMac(kms, kid, asked)
      const body = { kid, alg, data, ...(given !== undefined && { mac: given }) }
      const reply = await withKeyErrors('key', kid, () => kms.call('crypto.mac', { body }))
      if ('mac' in reply) {
        show({ input, key: kid, alg, mac: reply.mac }, [printable(reply.mac)])
        return 0
      }
      if (given === undefined) throw new StartupError('the service returned a verification instead of a MAC')
      show({ input, key: kid, alg, valid: reply.valid }, [
        printable(`${input}  ${reply.valid ? 'valid' : 'NOT VALID: the file, the MAC or the key differs'}`),
      ])
      return reply.valid ? 0 : exitNotValid
    }
  },
})
