import { StartupError } from '@warder/foundation/errors'
import { exitNotValid } from '../cli/exit-codes.ts'
import { requireOneName } from '../cli/options.ts'
import { FileRefused, toFileRefused } from '../cli/refused.ts'
import { printable } from '../cli/table.ts'
import { requireAbsent, writeAtomically } from '../crypto-files/atomic-file.ts'
import { computePayload, readSignature, readSigner, writeSignature } from '../crypto-files/signature.ts'
import { keyOption, readKid } from '../kms/key-argument.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { type KmsContext, kmsVerb } from '../kms/verb.ts'
import { isSameKey, selectSignature } from './key-use.ts'

/** Suffix of a signature file's name, unless another is given. */
const suffix = '.sig'

/** The JWS payload that stands for the file, base64url. */
async function computeFilePayload(path: string, { progress, signal }: KmsContext): Promise<string> {
  try {
    return (await computePayload(path, { signal, onProgress: progress })).toString('base64url')
  } catch (error) {
    throw signal.aborted ? error : toFileRefused(error, path)
  }
}

export const signVerb = kmsVerb({
  name: 'sign',
  words: 'FILE',
  summary: `signs a file of any size, into FILE${suffix} unless --output names another`,
  about: `What is signed is the SHA-256 of the file, computed here: the signature is a detached JWS (RFC 7515) over the text
warder-file-sha256: and the digest in hexadecimal. Takes the right sign on KEY, the private half of a pair.`,
  examples: ['warder crypto sign release.tar.gz --key KEY', 'warder crypto verify release.tar.gz --key KEY'],
  interrupted: 'no signature was left behind',
  options: {
    key: keyOption,
    output: { type: 'text', value: 'OUT', help: 'file to write' },
    force: { type: 'flag', help: 'replaces a file that is there' },
    alg: {
      type: 'text',
      value: 'ALG',
      help: `the algorithm, for keys that are bound to none, or that you may not read about
(default: what KEY is bound to, else what is usual for its type)`,
    },
  },
  parse({ key, output, force: overwrite, alg: asked }, names) {
    const kid = readKid(key)
    const input = requireOneName(names, 'file')
    const file = output ?? `${input}${suffix}`
    if (!overwrite) requireAbsent(file)
    return async (context) => {
      const { kms, show } = context
      const data = await computeFilePayload(input, context)
      const alg = await selectSignature(kms, kid, asked)
      const signature = await withKeyErrors('key', kid, () =>
        kms.call('crypto.sign', { body: { kid, alg, data } }),
      )
      try {
        await writeAtomically(file, { overwrite }, (out) => out.writeFile(writeSignature(signature)))
      } catch (error) {
        throw toFileRefused(error, file)
      }
      show({ input, signature: file, key: kid, alg }, [
        `${printable(file)}  written, ${alg} with key ${printable(kid)}`,
      ])
      return 0
    }
  },
})

export const verifyVerb = kmsVerb({
  name: 'verify',
  words: 'FILE',
  summary: `verifies that KEY signed a file; the signature is in FILE${suffix} unless --signature names another`,
  about: `KEY is either half of the pair: who signed is for you to say, not for the signature. Takes the right
signatureverify on the public half. Exit code 0: valid; 3: not valid, the file or the signature was changed or is of
another key; 1: it could not be checked.`,
  examples: ['warder crypto verify release.tar.gz --key KEY && tar xf release.tar.gz'],
  options: { key: keyOption, signature: { type: 'text', value: 'SIG', help: 'file of the signature' } },
  parse({ key, signature: given }, names) {
    const kid = readKid(key)
    const input = requireOneName(names, 'file')
    return async (context) => {
      const { kms, show } = context
      const file = given ?? `${input}${suffix}`
      const signature = await readSignature(file).catch((error: unknown) => {
        if ((error as { code?: unknown }).code === 'ENOENT')
          throw new FileRefused(
            `${printable(file)}: there is no signature; name another with --signature SIG`,
          )
        throw toFileRefused(error, file)
      })
      const signer = readSigner(signature)
      if (signer === undefined) throw new StartupError(`${printable(file)}: names no key`)
      const isKey = await isSameKey(kms, signer, kid)
      const data = await computeFilePayload(input, context)
      const { valid } = isKey
        ? await withKeyErrors('key', signer, () =>
            kms.call('crypto.verify', { body: { ...signature, data } }),
          )
        : { valid: false }
      const verdict = isKey
        ? 'NOT VALID: the file or the signature was changed'
        : `NOT VALID: signed by another key, ${signer}`
      show({ input, signature: file, key: kid, signer, valid }, [
        printable(`${input}  ${valid ? `valid, signed by key ${kid}` : verdict}`),
      ])
      return valid ? 0 : exitNotValid
    }
  },
})
