import { encodeSealRequest } from '@warder/covercrypt/frames'

/** Policy and plaintext as the thread takes them. */
export function sealRequest(policy: string, plaintext: Uint8Array): Uint8Array {
  return encodeSealRequest({ policy, plaintext })
}
