import type { Operation } from '@warder/server'
import type { Change } from '@warder/storage'
import { accountOperation, accountOrdersOperation, keyChangeOperation } from './account.ts'
import { accountManagement } from './account-management.ts'
import { sweepCredentials } from './account-store.ts'
import { sweepCertificates } from './certificate-store.ts'
import { challengeOperation } from './challenge.ts'
import { directoryOperation, newNonceOperation } from './directory.ts'
import { directoryManagement } from './directory-management.ts'
import { alternateOperation, certificateOperation, renewalInfoOperation } from './download.ts'
import type { AcmeEnvironment, AcmeServices } from './environment.ts'
import { finalizeOperation } from './finalize.ts'
import { newAccountOperation } from './new-account.ts'
import { sweepNonces } from './nonce-store.ts'
import { authorizationOperation, newOrderOperation, orderOperation } from './order.ts'
import { sweepOver } from './order-store.ts'
import { revokeOperation } from './revoke.ts'

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

/** Deletes expired nonces, orders, unused credentials and certificates. */
export function sweepAcme(now: number): Change[] {
  return [sweepNonces(now), ...sweepOver(now), sweepCredentials(now), sweepCertificates(now)]
}
