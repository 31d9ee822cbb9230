import {
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { type Started, type StartOptions, startSharedKms } from '@warder/kms/testing'
import { keyBlock } from './keys.ts'
import { type KmipClient, kmipClient, type Payload } from './kmip-client.ts'
import { attributes, objectType } from './nodes.ts'

export const {
  CryptographicUsageMask: use,
  CryptographicAlgorithm: algorithms,
  BlockCipherMode: modes,
} = Enumeration
export const allCryptoUses =
  use.Encrypt | use.Decrypt | use.Sign | use.Verify | use.MACGenerate | use.MACVerify | use.DeriveKey
export const hex = (text: string) => Buffer.from(text, 'hex')
export const data = (bytes: Uint8Array) => byteString(Tag.Data, bytes)
export const iv = (bytes: Uint8Array) => byteString(Tag.IVCounterNonce, bytes)
export const readBytes = (payload: Payload, tag: number) => Buffer.from(payload.get(tag) as Uint8Array)
export const parameters = (...members: readonly TtlvNode[]) => structure(Tag.CryptographicParameters, members)
export const mode = (name: keyof typeof modes) => enumeration(Tag.BlockCipherMode, modes[name])
export const hashing = (name: keyof typeof Enumeration.HashingAlgorithm) =>
  enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm[name])
export const padding = (name: keyof typeof Enumeration.PaddingMethod) =>
  enumeration(Tag.PaddingMethod, Enumeration.PaddingMethod[name])

export const key16 = hex('0123456789abcdef0123456789abcdef')
export const oasisData = hex('01020304050607080910111213141516')

/** A running service with two users who call it over KMIP. */
export interface KmipFixture {
  readonly kms: Started
  readonly alice: KmipClient
  readonly bob: KmipClient
  /** ActivationDate of an hour ago. */
  activeForAnHour(): TtlvNode
  /** Registers a symmetric key for alice, active for an hour, for every use unless `more` has a usage mask. */
  registerKey(
    key: Uint8Array,
    algorithm: keyof typeof algorithms,
    ...more: readonly TtlvNode[]
  ): Promise<string>
  /** Creates a key pair for alice. */
  createPair(
    algorithm: keyof typeof algorithms,
    ...more: readonly TtlvNode[]
  ): Promise<{ readonly priv: string; readonly pub: string }>
}

/** Starts the service for all tests of a file, or for the test that calls this, and stops it when they are done. */
export async function startKmipFixture(options: StartOptions = {}): Promise<KmipFixture> {
  return kmipFixture(await startSharedKms(options))
}

/** The fixture on a service that the test starts and stops. */
export function kmipFixture(kms: Started): KmipFixture {
  const alice = kmipClient(kms.user('alice'))
  const activeForAnHour = () =>
    dateTime(Tag.ActivationDate, Math.floor(kms.environment.clock.now() / 1000) - 3600)
  return {
    kms,
    alice,
    bob: kmipClient(kms.user('bob')),
    activeForAnHour,
    async registerKey(key, algorithm, ...more) {
      const mask = more.some(({ tag }) => tag === Tag.CryptographicUsageMask)
        ? []
        : [integer(Tag.CryptographicUsageMask, allCryptoUses)]
      const { id } = await alice.do('Register', [
        objectType('SymmetricKey'),
        attributes(...mask, activeForAnHour(), ...more),
        structure(Tag.SymmetricKey, [
          keyBlock(
            'Raw',
            key,
            enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
            integer(Tag.CryptographicLength, key.length * 8),
          ),
        ]),
      ])
      return id
    },
    async createPair(algorithm, ...more) {
      const common = [
        enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
        activeForAnHour(),
        ...more,
      ]
      const created = await alice.do('CreateKeyPair', [
        structure(Tag.CommonAttributes, common),
        structure(Tag.PrivateKeyAttributes, [
          integer(Tag.CryptographicUsageMask, use.Sign | use.Decrypt | use.DeriveKey),
        ]),
        structure(Tag.PublicKeyAttributes, [integer(Tag.CryptographicUsageMask, use.Verify | use.Encrypt)]),
      ])
      return {
        priv: created.get(Tag.PrivateKeyUniqueIdentifier) as string,
        pub: created.get(Tag.PublicKeyUniqueIdentifier) as string,
      }
    },
  }
}
