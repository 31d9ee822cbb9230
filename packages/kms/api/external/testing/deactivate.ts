import { Enumeration, Tag } from '@warder/kmip/tables'
import { enumeration, structure } from '@warder/kmip/ttlv'
import type { Started } from '../../../testing/index.ts'
import { kmipClient, uid } from '../../kmip/testing/index.ts'

/** Makes a key Deactivated, as its owner does by KMIP. */
export async function deactivate(kms: Started, owner: string, kid: string): Promise<void> {
  const reason = structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.CessationOfOperation),
  ])
  await kmipClient(kms.user(owner)).do('Revoke', [uid(kid), reason])
}
