import { certificateAttributes, type PublicKeyKind, publicKeyKind } from '@warder/keys'
import { decodeMembers, Tag, type TtlvNode } from '@warder/kmip-codec'
import { type CertificateFields, readCertificate } from '@warder/pki'
import { withKmipReasons } from '../failure/failure.ts'

/** The values of the attributes of an X.509 certificate. */
export interface CertificateFacts extends CertificateFields {
  readonly der: Uint8Array
  /** Algorithm of the public key; undefined when it is not supported. */
  readonly key: PublicKeyKind | undefined
}

/** Reads an X.509 certificate (RFC 5280 §4.1), DER. @throws kmipFailure InvalidField */
export function certificateFacts(der: Uint8Array): CertificateFacts {
  const fields = withKmipReasons(() => readCertificate(der))
  return { ...fields, der, key: publicKeyKind(fields.spki) }
}

/** The attributes that the server gives a certificate, as nodes. */
export function certificateNodes(facts: CertificateFacts): readonly TtlvNode[] {
  return decodeMembers(Tag.Attributes, certificateAttributes(facts, facts.der)).value
}
