import { StartupError } from '@warder/base'
import { exitNotValid, printable, requireOneName } from '@warder/command-line'
import { FileRefused, toFileRefused } from '@warder/command-line/files'
import { type KmsContext, keyOption, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { requireAbsent, writeAtomically } from '../crypto-files/atomic-file.ts'
import { computePayload, readSignature, readSigner, writeSignature } from '../crypto-files/signature.ts'
import { isSameKey, selectSignature } from './key-use.ts'

/** Suffix of signature files, unless --output is given. */
const suffix = '.sig'

/** Computes the JWS payload of the file, base64url. */
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
  summary: `Sign a file of any size into FILE${suffix}, or into --output`,
  about: `Signs the SHA-256 digest of the file, which is computed locally: the signature is a detached JWS (RFC 7515) over the
text warder-file-sha256: and the digest in hexadecimal. Requires the right sign on KEY, the private half of a pair.`,
  examples: ['warder crypto sign release.tar.gz --key KEY', 'warder crypto verify release.tar.gz --key KEY'],
  interrupted: 'no signature was left behind',
  options: {
    key: keyOption,
    output: { type: 'text', value: 'OUT', help: 'file to write' },
    force: { type: 'flag', help: 'replaces an existing file' },
    alg: {
      type: 'text',
      value: 'ALG',
      help: `algorithm (default: that of KEY, else the default of its type);
required without the right getattributes`,
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
  summary: `Verify the signature of a file by KEY in FILE${suffix}, or in --signature`,
  about: `KEY is either half of the pair of the expected signer; the key id in the signature is not trusted. Requires the right
signatureverify on the public half. Exit code 0: valid; 3: not valid, because the file or the signature was changed or
the key differs; 1: the check failed.`,
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
          throw new FileRefused(`${printable(file)} does not exist: name the signature with --signature SIG`)
        throw toFileRefused(error, file)
      })
      const signer = readSigner(signature)
      if (signer === undefined) throw new StartupError(`${printable(file)}: the signature names no key`)
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
