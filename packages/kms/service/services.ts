import type { AcmeServices } from '@warder/authority'
import type { ExternalStoreServices } from '@warder/external-stores'
import type { KmipServices } from '@warder/kmip-server'
import type { TransitServices } from '@warder/transit'
import type { OfficerServices } from '../officers/services.ts'
import type { PkiServices } from '../pki/services.ts'
import type { RestServices } from '../rest/services.ts'

/** Services of one worker: those that the front ends declare, together. A front end sees no more than it declares. */
export interface KmsServices
  extends TransitServices,
    ExternalStoreServices,
    AcmeServices,
    PkiServices,
    OfficerServices,
    KmipServices,
    RestServices {}
