import { Enumeration, enumeration, structure, Tag } from '@warder/kmip-codec'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import type { Started } from '@warder/kms/testing'

/** Makes a key Deactivated, as its owner does by KMIP. */
export async function deactivate(kms: Started, owner: string, kid: string): Promise<void> {
  const reason = structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.CessationOfOperation),
  ])
  await kmipClient(kms.user(owner)).do('Revoke', [uid(kid), reason])
}
