import type { Operation } from '@warder/server'
import { accountOperation, accountOrdersOperation } from './account/account.ts'
import { keyChangeOperation } from './account/key-change.ts'
import { accountManagement } from './account/management.ts'
import { newAccountOperation } from './account/new-account.ts'
import { alternateOperation, certificateOperation } from './certificate/download.ts'
import { finalizeOperation } from './certificate/finalize.ts'
import { renewalInfoOperation } from './certificate/renewal-info.ts'
import { revokeOperation } from './certificate/revoke.ts'
import { challengeOperation } from './challenge/challenge.ts'
import { directoryOperation, newNonceOperation } from './directory/directory.ts'
import { directoryManagement } from './directory/management.ts'
import { newOrderOperation } from './order/new-order.ts'
import { authorizationOperation, orderOperation } from './order/order.ts'
import type { AcmeServices } from './protocol/services.ts'
import type { AcmeEnvironment } from './request/environment.ts'

/** The resources of ACME (RFC 8555), below `/acme/{authority}`, and the operations that open authorities for ACME. */
export function acmeOperations(environment: AcmeEnvironment): readonly Operation<AcmeServices>[] {
  const resources = [
    directoryOperation,
    newNonceOperation,
    newAccountOperation,
    accountOperation,
    accountOrdersOperation,
    keyChangeOperation,
    newOrderOperation,
    orderOperation,
    finalizeOperation,
    authorizationOperation,
    challengeOperation,
    certificateOperation,
    alternateOperation,
    revokeOperation,
    renewalInfoOperation,
  ].map((operation) => operation(environment))
  return [...resources, ...directoryManagement(environment), ...accountManagement(environment)]
}
