import type { TagName, ValueName } from '@warder/kmip/tables'
import type { AbeForm, CurveName } from '../../../keys/index.ts'
import type { KeyFormat } from './key-format.ts'

export type KmipObjectType = Exclude<ValueName<'ObjectType'>, 'User' | 'Group'>
export type CryptographicAlgorithm = ValueName<'CryptographicAlgorithm'>
export type PointCompression = ValueName<'KeyCompressionType'>

/** Facts needed beside its bytes to return an object as it was registered. Holds nothing secret. */
export interface StoredShape {
  readonly objectType: KmipObjectType
  /**
   * Form of the stored bytes. `canonical`: raw bytes of a secret, PKCS#8, SPKI, the certificate, the opaque data.
   * `block`: the TTLV of the whole object as it came, for what has no such form: wrapped keys, parts of keys, PGP keys,
   * templates.
   */
  readonly form: 'canonical' | 'block'
  /** As registered; undefined for what has no key block. */
  readonly keyFormat: KeyFormat | undefined
  readonly compression?: PointCompression
  /** Members of a transparent key that were given, when not all were. */
  readonly members?: readonly TagName[]
  readonly algorithm?: CryptographicAlgorithm
  /** The only algorithm of JOSE that the key is for, where its encoding tells it. */
  readonly boundAlg?: string
  /** CryptographicLength, in bits. */
  readonly bits?: number
  readonly curve?: CurveName
  readonly qLength?: number
  readonly secretDataType?: number
  readonly opaqueDataType?: number
  readonly certificateType?: ValueName<'CertificateType'>
  readonly certificateRequestType?: ValueName<'CertificateRequestType'>
  /** Set for keys of attribute-based encryption. */
  readonly abe?: AbeForm
  /** true: stored as somebody else wrapped it. */
  readonly wrapped?: true
}
