/** Identifies a sealed value. It is the additional data of the encryption, so values cannot be swapped between rows. */
export interface SealContext {
  readonly table: string
  readonly row: string
  readonly column: string
}

/**
 * Envelope encryption of everything secret at rest: AES-256-GCM under a data key that is wrapped by the root key.
 * Sealed bytes: version (1) | data key id (16) | IV (12) | ciphertext | tag (16).
 */
export interface Seal {
  seal(place: SealContext, bytes: Uint8Array): Uint8Array
  /**
   * Rejects when the bytes were not sealed for this context, or by this root key.
   * @throws UnknownDataKey when there is no such data key now
   */
  open(place: SealContext, sealed: Uint8Array): Promise<Uint8Array>
}
