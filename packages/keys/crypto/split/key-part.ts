/** KMIP 2.1 §11.52. */
export type SplitKeyMethod =
  | 'XOR'
  | 'PolynomialSharingGF216'
  | 'PolynomialSharingPrimeField'
  | 'PolynomialSharingGF28'

/** One part of a split key: KeyPartIdentifier (from 1, the point at which the polynomial is evaluated) and material. */
export interface KeyPart {
  readonly identifier: number
  readonly bytes: Buffer
}
