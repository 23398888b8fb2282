"""The modules that exist, and how they behave on a host."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BUILTIN = "ansible.builtin."
COMMANDS = frozenset({"command", "shell", "raw", "script"})
READ_ONLY = _names(
    """assert async_status debug fail find getent gather_facts group_by add_host include_vars meta mount_facts
    package_facts pause ping service_facts set_fact set_stats setup slurp stat uri validate_argument_spec wait_for
    wait_for_connection"""
)
"""Modules that change nothing on the host."""
ON_CONTROLLER = _names(
    """assert debug fail group_by add_host include_vars meta pause set_fact set_stats include_tasks include_role include
    import_tasks import_role"""
)
"""Modules that need no connection to the host."""
INCLUDES = frozenset({"include_tasks", "include_role", "include", "import_tasks", "import_role"})
_BUILTINS = _names(
    """apt apt_key apt_repository assemble async_status blockinfile copy cron debconf dnf dpkg_selections expect fetch
    file get_url git group hostname import_playbook iptables known_hosts lineinfile package pip reboot replace rpm_key
    service subversion systemd systemd_service sysvinit tempfile template unarchive user yum yum_repository"""
)
_FORMERLY_BUILTIN = _names(
    """acl alternatives archive authorized_key at capabilities docker_container docker_image filesystem firewalld
    gconftool2 htpasswd ini_file interfaces_file java_cert k8s k8s_info kernel_blacklist locale_gen lvg lvol modprobe
    mount npm openssl_certificate openssl_csr openssl_privatekey openssl_publickey pam_limits pamd parted patch
    podman_container podman_image rhsm_repository seboolean sefcontext selinux seport shasta_s3_creds snmp_facts
    supervisorctl synchronize sysctl systemctl timezone ufw x509_certificate xattr xml zypper
    zypper_repository"""
)
"""Modules that were once part of Ansible and may be named without their collection."""
_COLLECTIONS = (
    "ansible.netcommon.",
    "ansible.posix.",
    "ansible.utils.",
    "community.crypto.",
    "community.docker.",
    "community.general.",
    "community.hashi_vault.",
    "community.libvirt.",
    "community.mysql.",
    "community.postgresql.",
    "community.sops.",
    "containers.podman.",
    "kubernetes.core.",
)

KNOWN = COMMANDS | READ_ONLY | INCLUDES | _BUILTINS | _FORMERLY_BUILTIN


def short(name: str) -> str:
    """``ansible.builtin.copy`` and ``ansible.legacy.copy`` are ``copy``."""
    for prefix in (BUILTIN, "ansible.legacy."):
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


def is_known(name: str) -> bool:
    """Whether the module is part of Ansible or of a collection in the execution environment."""
    return short(name) in KNOWN or (name.startswith(_COLLECTIONS) and name.count(".") == 2)


def last_part(name: str) -> str:
    return name.rpartition(".")[2]
