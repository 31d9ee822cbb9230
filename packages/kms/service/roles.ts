import { reserveSigners } from '@warder/external-stores/settings'
import {
  createApprovalPolicy,
  createDestructionPolicy,
  createOfficers,
  ownerQuota,
  type Roles,
} from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import { destructionSettings } from './key-life-settings.ts'
import { approvalSettings, type KmsConfig, officerSettings } from './settings.ts'

/** Users with more rights than an owner, and the room of owners, as configured. */
export function createRoles({
  config,
  db,
  seal,
  clock,
}: Pick<ServiceEnvironment<KmsConfig>, 'config' | 'db' | 'seal' | 'clock'>): Roles {
  return {
    approvals: createApprovalPolicy(approvalSettings(config), db),
    destructions: createDestructionPolicy(destructionSettings(config), db),
    officers: createOfficers(officerSettings(config), { db, seal, clock }),
    reservedSigners: reserveSigners(config),
    quota:
      config.max_objects_per_owner === undefined
        ? undefined
        : ownerQuota(db, clock, config.max_objects_per_owner),
  }
}
