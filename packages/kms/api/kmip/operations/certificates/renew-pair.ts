import { X509Certificate } from 'node:crypto'
import { Tag } from '@warder/kmip/tables'
import { namedIssuer } from '../../../../authority/issuance/issuer.ts'
import { stageCertificate } from '../../../../authority/issuance/stage-certificate.ts'
import { findSubject } from '../../../../authority/issuance/subject.ts'
import { readRenewable } from '../../../../authority/renewal/stage-renewal.ts'
import {
  linkedObject,
  linkReplacement,
  type ManagedObject,
  requireReplaceable,
} from '../../../../keys/index.ts'
import { type KmipContext, type KmipOperation, kmipFailure } from '../../engine/index.ts'
import { reKeyKeyPair } from '../objects/re-key-key-pair.ts'
import { takenOver } from '../objects/replacement.ts'
import { certificateMaker } from './certificate-object.ts'

/**
 * ReKeyKeyPair of a pair whose certificate an authority of here issued: the new pair has a certificate of the same
 * authority for the same subject, valid for as long, in the same commit. No message asks for it: pairs that renew
 * themselves are renewed so.
 */
export const renewCertifiedPair: KmipOperation = {
  ...reKeyKeyPair,
  async act(payload, context) {
    const certificate = await certificateOf(context)
    requireReplaceable(context, certificate)
    const material = await readRenewable(context, certificate)
    const before = await findSubject(context, certificate)
    const issuer = await namedIssuer(context, {
      key: undefined,
      certificate: linkedObject(certificate, 'CertificateLink'),
    })
    const answer = await reKeyKeyPair.act(payload, context)
    if (!Array.isArray(answer)) throw kmipFailure('GeneralFailure', 'The new pair is not there.')
    const idOf = (tag: number): string => {
      const value = answer.find((node) => node.tag === tag)?.value
      if (typeof value !== 'string') throw kmipFailure('GeneralFailure', 'The new pair is not there.')
      return value
    }
    const publicKey = idOf(Tag.PublicKeyUniqueIdentifier)
    const open = await context.objects.read(publicKey)
    if (open === undefined) throw kmipFailure('GeneralFailure', 'The new pair is not there.')
    const made = await findSubject(context, open)
    const { validFromDate, validToDate } = new X509Certificate(material)
    const replacement = await stageCertificate(context, {
      subject: { ...made, publicKey, privateKey: idOf(Tag.PrivateKeyUniqueIdentifier) },
      name: before.name ?? new Uint8Array([0x30, 0]),
      issuer,
      extensions: before.extensions,
      notBefore: context.now,
      notAfter: context.now + validToDate.getTime() - validFromDate.getTime(),
      makeObject: certificateMaker(context, await takenOver(context, certificate, [], undefined)),
      replaces: certificate,
    })
    await linkReplacement(context, certificate, replacement)
    context.audit({ details: { certificate: replacement.id } })
    return answer
  },
}

/** The certificate of the pair, which an authority of here issued. */
async function certificateOf(context: KmipContext): Promise<ManagedObject> {
  const id = linkedObject(context.object, 'CertificateLink')
  const certificate = id === undefined ? undefined : await context.permitted(id, 'rekey')
  if (certificate?.type !== 'Certificate' || linkedObject(certificate, 'CertificateLink') === undefined)
    throw kmipFailure('InvalidField', 'No authority of here has certified this pair.')
  return certificate
}
